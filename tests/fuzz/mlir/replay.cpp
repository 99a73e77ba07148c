#include "tests/fuzz/replay.h"

TEST_CASE("fuzzed modules of MLIR: seeds, corpus and mutations") {
  dovetail::test::replay(dovetail::test::mlir_target(), "tests/fuzz/mlir/modules.zip", 3000);
}
