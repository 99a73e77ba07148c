#include "explore/measure/count_cycles.h"

#include "simulator/cycle/cycle.h"
#include "simulator/run_launches.h"

namespace dovetail::explore {

accel::CountCycles cycle_counter(const simulator::MemorySpec& memory, std::int64_t accelerators) {
  return [=](const bundle::AccelCode& code, const bundle::MemorySpace& space) -> Result<std::uint64_t> {
    simulator::EngineOptions options;
    options.memory = memory;
    options.accelerators = accelerators;
    options.by_launch = true;
    options.others = code.others;
    options.program_base = code.program_base;
    const auto simulator = simulator::make_cycle_timing(code.config, options);
    simulator::Dram dram{space.base, bundle::initial_image(space, code)};
    std::uint64_t cycles = 0;
    DOVETAIL_TRY(simulator::run_launches(*simulator, code.program, code.launches, dram,
                                         [&](const simulator::Ended& ended) { cycles += ended.timing->cycles; }));
    return cycles;
  };
}

}  // namespace dovetail::explore
