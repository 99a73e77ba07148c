// main() of every test executable; compiled once, because it costs more than all the rest of a small test.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argument_count, char** arguments) { return Catch::Session().run(argument_count, arguments); }
