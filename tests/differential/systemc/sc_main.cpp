// The SystemC library needs this symbol wherever it is linked; these tests call sc_start() without it.
extern "C" int sc_main(int, char**);
int sc_main(int, char**) { return 0; }
