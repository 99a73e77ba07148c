// A program of two launches, as a file, for the commands that stop before its end.
#pragma once

#include <string>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::test {

// Adds 3 to 16 numbers and stores them, then 100: two launches over one memory.
inline constexpr const char* kTwoLaunches = R"(.config 1x16x16
kernel: .uop 0, 0, 0
.data x int8[1,16] 1 2 3 4
.space y int8[1,16]
start:  load.uop sram=0 dram=kernel size=1x1
        load.acc8 sram=0 dram=x size=1x1
plus:   alu.add uop=0:1 imm=3 push_next
        store.out sram=0 dram=y size=1x1 pop_prev
.launch
again:  alu.add uop=0:1 imm=100 push_next
        store.out sram=0 dram=y size=1x1 pop_prev
)";

// A folder that holds p.s.
class ProgramFolder {
 public:
  explicit ProgramFolder(const std::string& text = kTwoLaunches) {
    REQUIRE(write_text_file(folder_ / "p.s", text).ok());
  }
  std::string path(const char* name) const { return folder_ / name; }

 private:
  TemporaryFolder folder_;
};

}  // namespace dovetail::test
