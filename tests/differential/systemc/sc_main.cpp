// The SystemC library refers to it wherever it is linked; these tests call sc_start() without it.
extern "C" int sc_main(int, char**);
int sc_main(int, char**) { return 0; }
