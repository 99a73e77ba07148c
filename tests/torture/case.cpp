#include "tests/torture/case.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/generator/random.h"

namespace dovetail::test {

namespace {

constexpr std::uint64_t kMostTransferCycles = 4000, kMostProgramCycles = 300'000;
constexpr std::int64_t kLargeSramBytes = std::int64_t{4} << 20;

// Any memory: one outstanding burst or any number of them, slower and faster than the bus, low and high latency.
simulator::MemorySpec random_memory(Random& random, std::int64_t bus_bytes) {
  const auto number = [&](std::uint64_t least, std::uint64_t most) {
    return static_cast<std::int64_t>(random.between(least, most));
  };
  const auto outstanding = [&] { return random.chance(10) ? std::int64_t{65536} : number(1, 16); };
  const auto bytes = [&] {
    if (random.chance(15)) return simulator::ByteRate(number(100'000, 40'000'000), 1'000'000);
    return simulator::ByteRate(random.pick<std::int64_t>({0, 0, 1, 3, 8, 16, bus_bytes, 2 * bus_bytes}));
  };
  switch (random.below(4)) {
    case 0:
      return simulator::IdealMemory{.latency = random.chance(5) ? number(1000, 20000) : number(1, 100),
                                    .bytes_per_cycle = bytes(),
                                    .outstanding = outstanding()};
    case 1: {
      const auto& standards = simulator::dram_standards();
      simulator::BankMemory bank{.standard = standards[random.below(standards.size())]};
      bank.clock_ps = kBankClocksPs[random.below(kBankClocksPs.size())];
      bank.controller_cycles = number(0, 9);
      bank.outstanding = outstanding();
      return bank;
    }
    default:
      return simulator::PerturbedMemory{
          .base = {.latency = number(1, 40), .bytes_per_cycle = bytes(), .outstanding = outstanding()},
          .seed = random.below(1 << 30),
          .most_latency = number(0, 119),
          .most_refusal = number(0, 19)};
  }
}

// Approximate cycles for each beat of a long transfer.
std::uint64_t cycles_per_beat(const isa::HardwareConfig& config, const simulator::MemorySpec& memory) {
  std::int64_t latency = 0, bursts = 1;
  simulator::ByteRate bytes;
  if (const auto* ideal = std::get_if<simulator::IdealMemory>(&memory)) {
    latency = ideal->latency, bytes = ideal->bytes_per_cycle, bursts = ideal->outstanding;
  } else if (const auto* bank = std::get_if<simulator::BankMemory>(&memory)) {
    latency = 60'000 / bank->clock_ps + 2 * bank->controller_cycles, bursts = bank->outstanding;
  } else {
    const auto& perturbed = std::get<simulator::PerturbedMemory>(memory);
    latency = perturbed.base.latency + perturbed.most_latency / 2 + perturbed.most_refusal;
    bytes = perturbed.base.bytes_per_cycle, bursts = perturbed.base.outstanding;
  }
  const std::int64_t on_their_way =
      std::min(bursts * config.burst_beats, config.outstanding_beats / config.burst_beats * config.burst_beats);
  const std::int64_t beat = bytes.is_bus() ? 1 : (config.bus_bytes * bytes.cycles + bytes.bytes - 1) / bytes.bytes;
  return static_cast<std::uint64_t>(std::max({std::int64_t{1}, beat, latency / on_their_way}));
}

}  // namespace

TortureCase torture_case(const isa::HardwareConfig& config, std::uint64_t seed) {
  Random random(seed * 2 + 1);
  TortureCase result{.seed = seed,
                     .program = {.seed = seed, .anywhere = true},
                     .memory = random_memory(random, config.bus_bytes),
                     .power_up_seed = random.bits() | 1};
  result.program.extra_percent = random.pick({0u, 15u, 60u});
  result.program.max_steps = random.pick<std::uint64_t>({40, 160});
  std::size_t size = random.pick<std::size_t>({10, 80, 200});
  if (sram_bytes(config) > kLargeSramBytes) size = 400;
  if (random.chance(25)) result.slave = simulator::any_axi_slave(random.bits());

  const std::uint64_t per_beat = cycles_per_beat(config, result.memory);
  const auto bus = static_cast<std::uint64_t>(config.bus_bytes);
  result.program.most_transfer_bytes = bus * std::max<std::uint64_t>(1, kMostTransferCycles / per_beat);
  std::uint64_t largest = 0;
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    largest = std::max(largest, static_cast<std::uint64_t>(config.element_bytes(memory)));
  // Loads that define operands are separate transfers.
  const std::uint64_t instruction_cycles = 100 + 4 * per_beat * ((largest + bus - 1) / bus);
  size = std::min<std::size_t>(size, kMostProgramCycles / instruction_cycles);
  // Small address spaces have little room for programs.
  if (config.address_bits < 18) size = std::min<std::size_t>(size, 60);
  result.program.size = std::max<std::size_t>(10, size);
  return result;
}

std::int64_t sram_bytes(const isa::HardwareConfig& config) {
  return config.uop_buffer_bytes + config.inp_buffer_bytes + config.wgt_buffer_bytes + config.acc_buffer_bytes;
}

std::string describe(const TortureCase& how) {
  return fmt::format("seed {}, {}, power-up {}", how.seed, how.slave ? to_string(*how.slave) : to_string(how.memory),
                     how.power_up_seed);
}

}  // namespace dovetail::test
