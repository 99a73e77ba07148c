#include "simulator/trace/attribution.h"

#include <algorithm>
#include <numeric>

#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

std::uint64_t UnitTime::total() const { return std::accumulate(waiting.begin(), waiting.end(), busy); }

UnitTime& UnitTime::operator+=(const UnitTime& other) {
  busy += other.busy;
  for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] += other.waiting[i];
  return *this;
}

std::vector<std::array<UnitTime, 3>> attribute(const Trace& trace, std::size_t groups, const EventGroup& group_of) {
  std::vector<std::array<UnitTime, 3>> times(groups + 1);
  for (const LaunchTrace& launch : trace.launches) {
    std::array<std::uint64_t, 3> next{};  // the first cycle not yet attributed
    for (const TraceEvent& event : launch.events) {
      const std::size_t unit = isa::index(event.unit);
      UnitTime& time = times[group_of(event)][unit];
      const std::uint64_t begin = std::max(next[unit], event.start);
      time.waiting[static_cast<std::size_t>(event.cause)] += begin - next[unit];
      time.busy += event.end + 1 - begin;
      next[unit] = event.end + 1;
    }
    for (std::size_t unit = 0; unit < next.size(); ++unit)
      times.back()[unit].waiting[static_cast<std::size_t>(StallCause::fetch)] += launch.cycles - next[unit];
  }
  return times;
}

std::vector<std::array<UnitTime, 3>> attribute(const Trace& trace) {
  return attribute(trace, trace.sources.size(), [](const TraceEvent& event) { return event.source; });
}

}  // namespace dovetail::simulator
