#include "tests/fuzz/replay.h"

using namespace dovetail::test;

TEST_CASE("fuzzed programs: seeds, corpus and mutations") {
  replay(program_target(), "tests/fuzz/isa/programs.zip", 3000);
}

TEST_CASE("fuzzed assembly: seeds, corpus and mutations") {
  replay(assembly_target(), "tests/fuzz/isa/assembly.zip", 3000);
}

TEST_CASE("fuzzed hardware files: seeds, corpus and mutations") {
  replay(hardware_target(), "tests/fuzz/isa/hardware.zip", 3000);
}
