#include "simulator/work_estimate.h"

#include <algorithm>
#include <variant>

#include "base/overloaded.h"
#include "isa/semantics/uop_loop.h"

namespace dovetail::simulator {

namespace {

std::uint64_t moved_elements(const isa::Transfer& transfer) {
  if (transfer.x_size == 0) return 0;
  const std::uint64_t width = std::uint64_t{transfer.x_size} + transfer.x_pad_0 + transfer.x_pad_1;
  const std::uint64_t height = std::uint64_t{transfer.y_size} + transfer.y_pad_0 + transfer.y_pad_1;
  return width * height;
}

// For the engines that execute an instruction whole: about 100 billion multiply-adds per second, plus the overhead of a
// step. The RTL design is evaluated cycle by cycle, about one cycle per step, at a cost that grows with the array. A
// device takes about one cycle of 100 MHz per step.
double seconds_per_step(std::string_view engine, const isa::HardwareConfig& config) {
  if (engine == "axi") return 10e-9;
  const auto macs = static_cast<double>(config.macs_per_uop());
  return engine == "rtl" ? 200e-9 + macs * 1e-9 : 1e-9 + macs * 1e-11;
}

constexpr double kSecondsPerInstruction = 50e-9;

}  // namespace

std::uint64_t steps_of(const isa::Instruction& instruction) {
  return std::max<std::uint64_t>(
      1, std::visit(Overloaded{[](const isa::Load& load) { return moved_elements(load); },
                               [](const isa::Store& store) { return moved_elements(store); },
                               [](const isa::UopLoop& loop) { return isa::semantics::step_count(loop); },
                               [](const isa::Finish&) { return std::uint64_t{0}; }},
                    instruction.body));
}

WorkEstimate estimate_work(std::string_view engine, const isa::HardwareConfig& config,
                           std::span<const isa::Instruction> program) {
  WorkEstimate estimate;
  for (const isa::Instruction& instruction : program) estimate += {.steps = steps_of(instruction)};
  estimate.seconds = static_cast<double>(estimate.steps) * seconds_per_step(engine, config) +
                     static_cast<double>(program.size()) * kSecondsPerInstruction;
  return estimate;
}

}  // namespace dovetail::simulator
