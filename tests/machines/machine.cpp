#include "tests/machines/machine.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"

namespace dovetail::test {

namespace {

using isa::HardwareConfig;
using Buffer = std::pair<std::int64_t HardwareConfig::*, isa::Memory>;
constexpr std::array<Buffer, 4> kBuffers{{{&HardwareConfig::uop_buffer_bytes, isa::Memory::uop},
                                          {&HardwareConfig::inp_buffer_bytes, isa::Memory::inp},
                                          {&HardwareConfig::wgt_buffer_bytes, isa::Memory::wgt},
                                          {&HardwareConfig::acc_buffer_bytes, isa::Memory::acc}}};
constexpr std::uint64_t kMostLog2 = 6;  // of a block

void make_usable(HardwareConfig& machine, Random random) {
  machine.batch = random.chance(60) ? 1 : std::int64_t{2} << random.below(2);
  machine.block_in = machine.block_out = std::int64_t{1} << random.between(1, kMostLog2);
  // With a batch, blocks of unequal size leave everything to the host.
  if (machine.batch == 1 && random.chance(60)) machine.block_out = std::int64_t{1} << random.below(kMostLog2 + 1);
  keep_legal_extensions(machine);
  for (const auto& [bytes, memory] : kBuffers)
    machine.*bytes = (std::int64_t{128} << random.below(6)) * machine.element_bytes(memory);
  machine.address_bits = std::max<std::int64_t>(28, machine.address_bits);
}

}  // namespace

HardwareConfig legal_machine(std::uint64_t seed) {
  constexpr DesignLimits kLimits{.macs = INT64_MAX, .sram_bytes = std::int64_t{16} << 20, .batch = 4, .block = 64};
  HardwareConfig machine = any_config(seed, kLimits);
  machine.name = fmt::format("machine-{}", seed);
  if (seed % 2 == 1) make_usable(machine, Random(seed ^ 0x3ac4));
  DOVETAIL_CHECK(isa::validate(machine).ok(), "the drawn machine is illegal");
  return machine;
}

}  // namespace dovetail::test
