// main() of every test executable; compiled once, because it takes longer to compile than the rest of a small test.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
// Catch2's signal handler allocates: after a crash inside malloc it would hang.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
#endif

#include <cstdio>
#include <cstdlib>

#include "tests/skip.h"
#include "tests/temporary_folder.h"

int main(int argument_count, char** arguments) {
  // The kit's per-user state must not contain anything from tests.
  const dovetail::test::TemporaryFolder state;
  ::setenv("XDG_STATE_HOME", state.path().c_str(), 1);
  const int status = Catch::Session().run(argument_count, arguments);
  if (status != 0 || dovetail::test::skip_reasons().empty()) return status;
  for (const std::string& reason : dovetail::test::skip_reasons()) std::printf("skipped: %s\n", reason.c_str());
  return dovetail::test::kSkipped;
}
