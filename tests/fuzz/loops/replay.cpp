#include "tests/fuzz/replay.h"

TEST_CASE("fuzzed loop programs: seeds, corpus and mutations") {
  dovetail::test::replay(dovetail::test::loops_target(), "tests/fuzz/loops/programs.zip", 1500);
}
