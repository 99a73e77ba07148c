#include "tests/fuzz/replay.h"

TEST_CASE("fuzzed bundles: seeds, corpus and mutations") {
  dovetail::test::replay(dovetail::test::bundle_target(), "tests/fuzz/bundle/bundles.zip", 2000);
}
