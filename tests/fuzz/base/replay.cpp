#include "tests/fuzz/replay.h"

TEST_CASE("fuzzed arrays: seeds, corpus and mutations") {
  dovetail::test::replay(dovetail::test::arrays_target(), "tests/fuzz/base/arrays.zip", 4000);
}
