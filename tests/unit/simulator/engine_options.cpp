// The address of the program, for engines that fetch it.
#include "simulator/engine_options.h"

#include "tests/catch.h"

namespace dovetail::simulator {

TEST_CASE("a program follows the image, precedes it at the end of the address space, or has no room") {
  isa::HardwareConfig config;
  config.address_bits = 16;
  CHECK(program_place(config, 0x1000, 0x1000, 16).value() == 0x2000);
  CHECK(program_place(config, 0x1000, 0x1001, 16).value() == 0x3000);
  CHECK(program_place(config, 0x1000, 0xe000, 0x1000).value() == 0xf000);
  CHECK(program_place(config, 0x2000, 0xd000, 0x1001).value() == 0x0000);
  CHECK(program_place(config, 0x8000, 0x8000, 0x20).value() == 0x7000);
  CHECK_FALSE(program_place(config, 0x1000, 0xe001, 0x1001).ok());
}

TEST_CASE("windows hold image and program, and do not depend on the image's address in the host's memory") {
  CHECK(window_bytes(0x1000, 0x1000, 0x2000, 0x10) == 0x3000);
  CHECK(window_bytes(0x1000, 0x1001, 0x3000, 0x1000) == 0x4000);
  CHECK(window_bytes(0x8000, 0x8000, 0x7000, 0x20) == 0xa000);
  for (std::uint64_t lead = 0; lead < 64; ++lead)
    for (const std::uint64_t base : {0x1000U, 0x1040U, 0x1fc0U})
      CHECK(window_bytes(base - lead, 0x1000 + lead, 0x3000, 0x800) == window_bytes(base, 0x1000, 0x3000, 0x800));
}

}  // namespace dovetail::simulator
