#include "simulator/simulator.h"

#include <fmt/format.h>

#include "base/check.h"
#include "isa/offset.h"

namespace dovetail::simulator {

std::span<const isa::Instruction> Simulator::at_offset(const isa::HardwareConfig& config,
                                                       std::span<const isa::Instruction> program) {
  if (offset_ == 0) return program;
  moved_ = isa::at_offset(config, program, offset_);
  return moved_;
}

Result<std::vector<Counters>> Simulator::launch_together(std::span<const isa::Instruction>,
                                                         std::span<const isa::Launch>, Dram&) {
  throw InternalError(std::string(name()) + " has one accelerator");
}

Result<Counters> run_program(Simulator& simulator, const isa::Codec& codec, std::span<const std::byte> program,
                             std::string_view where, std::span<const isa::Launch> launches, Dram& dram) {
  DOVETAIL_ASSIGN(const std::vector<isa::Instruction> instructions, codec.decode_program(program, where));
  const isa::Launch everything{.begin = 0, .count = instructions.size()};
  if (launches.empty()) launches = {&everything, 1};
  Counters sum;
  for (const isa::Launch& launch : launches) {
    if (launch.begin > instructions.size() || launch.count > instructions.size() - launch.begin)
      return Diagnostic{
          .what = "cannot run a launch",
          .where = std::string(where),
          .why = fmt::format("launch {}:{} needs a program of {} instructions, but it has {}", launch.begin,
                             launch.count, launch.begin + launch.count, instructions.size()),
          .hint = "a launch is BEGIN:COUNT, counted in instructions"};
    DOVETAIL_ASSIGN(const Counters counters,
                    simulator.launch(std::span(instructions).subspan(launch.begin, launch.count), dram, launch.begin));
    sum += counters;
  }
  return sum;
}

}  // namespace dovetail::simulator
