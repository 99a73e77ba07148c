// How a random program is run: the memory model, or a random AXI4 slave in its place, and the contents at power-up.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "isa/config.h"
#include "simulator/memory/memory.h"
#include "simulator/rtl/axi_slave.h"
#include "tests/generator/generator.h"

namespace dovetail::test {

// Clock periods of the accelerator that are combined with a DRAM.
inline constexpr std::array<std::int64_t, 4> kBankClocksPs{500, 1000, 2000, 5000};

struct TortureCase {
  std::uint64_t seed = 0;
  GeneratorOptions program;
  simulator::MemorySpec memory;
  std::uint64_t power_up_seed = 1;
  std::optional<simulator::AxiSlave> slave = std::nullopt;  // on RTL instead of the memory
};
// Derived from both arguments. Programs are shorter where the configuration makes each transfer slow, and longer where
// SRAM is so large that engines take long to begin.
TortureCase torture_case(const isa::HardwareConfig& config, std::uint64_t seed);
std::string describe(const TortureCase& torture);

// Size of the four memories together.
std::int64_t sram_bytes(const isa::HardwareConfig& config);

}  // namespace dovetail::test
