#include "explore/measure/count_cycles.h"

#include "simulator/cycle/cycle.h"

namespace dovetail::explore {

accel::CountCycles cycle_counter(const simulator::MemorySpec& memory) {
  return [memory](const bundle::AccelCode& code, const bundle::MemorySpace& space) -> Result<std::uint64_t> {
    simulator::EngineOptions options;
    options.memory = memory;
    options.program_base = code.program_base;
    const auto simulator = simulator::make_cycle_timing(code.config, options);
    simulator::Dram dram{space.base, bundle::initial_image(space, code)};
    DOVETAIL_TRY(simulator->launch(code.program, dram));
    return simulator->timing()->cycles;
  };
}

}  // namespace dovetail::explore
