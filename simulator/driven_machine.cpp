#include "simulator/driven_machine.h"

#include <utility>

#include <fmt/format.h>

#include "simulator/engine_options.h"

namespace dovetail::simulator {

namespace {

constexpr std::uint64_t kAlignment = 64;  // of the memory as the processor sees it

}  // namespace

// A few leading bytes align the first one.
DrivenMachine::DrivenMachine(std::uint64_t base, std::uint64_t bytes)
    : dram_{base, std::vector<std::byte>(bytes + kAlignment)}, base_(base) {
  const std::uint64_t over = reinterpret_cast<std::uintptr_t>(dram_.bytes.data()) % kAlignment;
  const std::uint64_t lead = over == 0 || base < kAlignment ? 0 : kAlignment - over;
  dram_.base -= lead;
  dram_.bytes.resize(lead + bytes);  // smaller, so it is not reallocated
}

Result<std::unique_ptr<DrivenMachine>> DrivenMachine::make(
    std::span<const isa::HardwareConfig> accelerators, std::uint64_t base, std::uint64_t bytes,
    const std::function<Result<std::unique_ptr<Simulator>>(const isa::HardwareConfig&)>& make_simulator) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
  if (bytes > kMostBytes)
    return Diagnostic{"cannot simulate a machine", "its memory", fmt::format("{} bytes > {}", bytes, kMostBytes),
                      "give less memory"};
  for (const isa::HardwareConfig& config : accelerators)
    if (const std::uint64_t end = std::uint64_t{1} << config.address_bits; base > end || bytes > end - base)
      return Diagnostic{"cannot simulate a machine", config.name,
                        fmt::format("its memory of {} bytes at {:#x} ends beyond the addresses, which have {} bits",
                                    bytes, base, config.address_bits),
                        "give a lower address, or less memory"};
  std::unique_ptr<DrivenMachine> machine(new DrivenMachine(base, bytes));
  for (const isa::HardwareConfig& config : accelerators) {
    DOVETAIL_ASSIGN(auto simulator, make_simulator(config));
    machine->accelerators_.push_back({config, isa::Codec(config), Registers(config), std::move(simulator)});
  }
  return machine;
}

Result<void> DrivenMachine::check(std::size_t accelerator, std::uint32_t offset) const {
  if (accelerator >= accelerators_.size())
    return Diagnostic{"cannot access a register", fmt::format("accelerator {}", accelerator),
                      fmt::format("the machine has {}, numbered from 0", accelerators_.size()),
                      "give the number of one of them"};
  if (!accelerators_[accelerator].registers.has(offset))
    return Diagnostic{"cannot access a register", fmt::format("offset {:#x}", offset),
                      "the design has no register there, and answers SLVERR",
                      "see `dovetail isa --format markdown` for the registers"};
  return {};
}

Result<std::uint32_t> DrivenMachine::read(std::size_t accelerator, std::uint32_t offset) const {
  DOVETAIL_TRY(check(accelerator, offset));
  return accelerators_[accelerator].registers.read(offset);
}

Result<void> DrivenMachine::write(std::size_t accelerator, std::uint32_t offset, std::uint32_t value) {
  DOVETAIL_TRY(check(accelerator, offset));
  Accelerator& one = accelerators_[accelerator];
  if (!one.registers.write(offset, value)) return {};
  return launch(one);
}

// The instructions of the launch, from memory. On an error `error` is what the registers report.
Result<std::vector<isa::Instruction>> DrivenMachine::fetch(Accelerator& accelerator, LaunchError& error) const {
  using isa::spec::ErrorCode;
  const Registers& registers = accelerator.registers;
  const std::uint64_t begin = registers.begin(), base = registers.program_base();
  if (!fits_address_space(accelerator.config, base, begin, registers.count())) {
    error = {ErrorCode::address_space, begin};
    return outside_address_space(accelerator.config, base, begin, registers.count());
  }
  const auto unit = static_cast<std::uint64_t>(accelerator.config.instruction_bytes());
  const std::uint64_t first = base + begin * unit, bytes = registers.count() * unit;
  if (bytes > 0 && (first < dram_.base || first - dram_.base > dram_.bytes.size() ||
                    bytes > dram_.bytes.size() - (first - dram_.base))) {
    error = {ErrorCode::decode_error, begin};
    return Diagnostic{"cannot fetch the program", fmt::format("address {:#x}", first),
                      fmt::format("its {} bytes are not within the memory, {} bytes at {:#x}", bytes,
                                  dram_.bytes.size() - (base_ - dram_.base), base_),
                      "set PROGRAM_BASE to the address of the program"};
  }
  const auto code = bytes == 0 ? std::span<const std::byte>()
                               : std::span<const std::byte>(dram_.bytes).subspan(first - dram_.base, bytes);
  auto program = accelerator.codec.decode_program(code, "the program");
  if (!program.ok()) {
    std::uint64_t bad = 0;
    while (accelerator.codec.decode(code.subspan(bad * unit, unit)).ok()) ++bad;
    error = {ErrorCode::illegal, begin + bad};
  }
  return program;
}

Result<void> DrivenMachine::launch(Accelerator& accelerator) {
  Registers& registers = accelerator.registers;
  LaunchError error;
  auto program = fetch(accelerator, error);
  if (!program.ok()) {
    registers.stop(error, 0);
    return program.errors();
  }
  Simulator& simulator = *accelerator.simulator;
  simulator.set_offset(registers.offset());
  const auto counters = simulator.launch(*program, dram_, registers.begin());
  const std::uint64_t cycles = simulator.timing() == nullptr ? 0 : simulator.timing()->cycles;
  if (counters.ok()) {
    registers.complete(cycles);
    return {};
  }
  if (const auto reported = simulator.error()) registers.stop(*reported, cycles);
  return counters.errors();
}

}  // namespace dovetail::simulator
