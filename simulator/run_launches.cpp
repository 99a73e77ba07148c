#include "simulator/run_launches.h"

#include <algorithm>
#include <vector>

namespace dovetail::simulator {

namespace {

// Which of the launches the trace is of. A trace without events is of no launch in particular.
const isa::Launch& timed_launch(std::span<const isa::Launch> launches, const LaunchTrace* timing) {
  if (timing == nullptr || timing->events.empty()) return launches.front();
  const auto found = std::ranges::find(launches, timing->events.front().instruction, &isa::Launch::begin);
  return found == launches.end() ? launches.front() : *found;
}

}  // namespace

Counters Ended::sum() const {
  Counters sum;
  for (const Counters& one : counters) sum += one;
  return sum;
}

Result<void> run_launches(Simulator& simulator, std::span<const isa::Instruction> program,
                          std::span<const isa::Launch> launches, Dram& dram, const LaunchEnded& ended) {
  const bool together = simulator.runs_together();
  for (std::size_t begin = 0, end = 0; begin < launches.size(); begin = end) {
    end = begin + 1;
    while (together && end < launches.size() && launches[end].together) ++end;
    const auto group = launches.subspan(begin, end - begin);
    const isa::Launch& first = group.front();
    std::vector<Counters> counters;
    Simulator& one = together ? simulator : simulator.of_accelerator(first.accelerator);
    if (together) {
      DOVETAIL_ASSIGN(counters, simulator.launch_together(program, group, dram));
    } else {
      DOVETAIL_ASSIGN(const Counters own, one.launch(program.subspan(first.begin, first.count), dram, first.begin));
      counters.push_back(own);
    }
    const LaunchTrace* const timing = one.timing();
    ended({group, counters, timed_launch(group, timing), timing});
  }
  return {};
}

}  // namespace dovetail::simulator
