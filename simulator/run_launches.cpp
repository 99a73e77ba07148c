#include "simulator/run_launches.h"

#include <algorithm>

namespace dovetail::simulator {

namespace {

// Which of the launches the trace is of. A trace without events is of no launch in particular.
const isa::Launch& timed_launch(std::span<const isa::Launch> launches, const LaunchTrace* timing) {
  if (timing == nullptr || timing->events.empty()) return launches.front();
  const auto found = std::ranges::find(launches, timing->events.front().instruction, &isa::Launch::begin);
  return found == launches.end() ? launches.front() : *found;
}

}  // namespace

Result<void> run_launches(Simulator& simulator, std::span<const isa::Instruction> program,
                          std::span<const isa::Launch> launches, Dram& dram, const LaunchEnded& ended) {
  const bool together = simulator.runs_together();
  for (std::size_t begin = 0, end = 0; begin < launches.size(); begin = end) {
    end = begin + 1;
    while (together && end < launches.size() && launches[end].together) ++end;
    const auto group = launches.subspan(begin, end - begin);
    const isa::Launch& first = group.front();
    const Result<Counters> counters =
        together ? simulator.launch_together(program, group, dram)
                 : simulator.launch(program.subspan(first.begin, first.count), dram, first.begin);
    if (!counters.ok()) return counters.errors();
    const LaunchTrace* const timing = simulator.timing();
    ended(timed_launch(group, timing), *counters, timing);
  }
  return {};
}

}  // namespace dovetail::simulator
