// Elements from DRAM.
#include "isa/semantics/load.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/semantics/offset.h"
#include "tests/catch.h"

namespace dovetail::isa::semantics {

TEST_CASE("WGT4 has two signed lanes a byte, the first in the low bits") {
  const std::array<std::byte, 4> element{std::byte{0x10}, std::byte{0x87}, std::byte{0xf8}, std::byte{0x6a}};
  std::array<std::int8_t, 8> lanes{};
  load_wgt4(lanes, element);
  CHECK(lanes == std::array<std::int8_t, 8>{0, 1, 7, -8, -8, -1, -6, 6});
}

TEST_CASE("OFFSET is added in whole elements, where the bit is set") {
  Transfer transfer{.dram_base = 5};
  CHECK(dram_begin(transfer, 16, 1000) == 5);
  transfer.offset = true;
  CHECK(dram_begin(transfer, 16, 0) == 5);
  CHECK(dram_begin(transfer, 16, 15) == 5);
  CHECK(dram_begin(transfer, 16, 16) == 6);
  CHECK(dram_begin(transfer, 256, 1000) == 8);
}

}  // namespace dovetail::isa::semantics
