#include "isa/offset.h"

#include <vector>

#include "isa/config.h"
#include "tests/catch.h"

namespace dovetail::isa {

namespace {

HardwareConfig with_offset() {
  HardwareConfig config;
  config.offset = true;
  return config;
}

}  // namespace

TEST_CASE("a program at an offset has the sums, by the elements of each memory, and no bit `offset`") {
  Load load{{.memory = Memory::wgt, .dram_base = 3, .y_size = 1, .x_size = 2, .x_stride = 2, .offset = true}};
  Store store{{.memory = Memory::out, .dram_base = 7, .y_size = 1, .x_size = 1, .x_stride = 1, .offset = true}, true};
  const Store fixed{{.memory = Memory::out, .dram_base = 7, .y_size = 1, .x_size = 1, .x_stride = 1}};
  const std::vector<Instruction> program{
      {{.push_next = true}, load}, {{.pop_prev = true}, store}, {{}, fixed}, {{}, Finish{}}};
  const std::vector<Instruction> moved = at_offset(with_offset(), program, 0x1010);
  load.offset = store.offset = false;
  load.dram_base += 0x10;    // elements of 256 bytes
  store.dram_base += 0x101;  // of 16
  CHECK(moved == std::vector<Instruction>{
                     {{.push_next = true}, load}, {{.pop_prev = true}, store}, {{}, fixed}, {{}, Finish{}}});
}

TEST_CASE("OFFSET needs its extension, and is an address") {
  CHECK(check_offset(HardwareConfig{}, 0).ok());
  CHECK(check_offset(with_offset(), 0xffffffff).ok());
  CHECK(to_string(check_offset(HardwareConfig{}, 16).errors()) ==
        "error: cannot set the register OFFSET (1x16x16): the extension `offset` is off. Hint: set \"offset\": true in "
        "the configuration");
  CHECK(
      to_string(check_offset(with_offset(), std::uint64_t{1} << 32).errors()) ==
      "error: cannot set the register OFFSET (1x16x16): 0x100000000 >= 2^32, the first address that the design cannot "
      "reach. Hint: lower the offset, or raise `address_bits`");
}

}  // namespace dovetail::isa
