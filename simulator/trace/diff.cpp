#include "simulator/trace/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "isa/text.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

void compare(std::string& what, std::string_view name, std::uint64_t a, std::uint64_t b) {
  if (a == b) return;
  what += fmt::format("{}{} {}, not {}", what.empty() ? "" : "; ", name, a, b);
}

std::string event_difference(const TraceEvent& a, const TraceEvent& b) {
  std::string what;
  compare(what, "instruction", a.instruction, b.instruction);
  if (a.unit != b.unit)
    what += fmt::format("{}unit {}, not {}", what.empty() ? "" : "; ", isa::name(a.unit), isa::name(b.unit));
  compare(what, "issue", a.issue, b.issue);
  compare(what, "start", a.start, b.start);
  compare(what, "end", a.end, b.end);
  if (what.empty() && a.cause != b.cause)
    what = fmt::format("cause {}, not {}", kStallCauseNames[static_cast<std::size_t>(a.cause)],
                       kStallCauseNames[static_cast<std::size_t>(b.cause)]);
  return what;
}

// The first cycle in which one trace has an event that the other has not.
std::uint64_t parting(const TraceEvent& a, const TraceEvent& b) {
  if (a.issue != b.issue) return std::min(a.issue, b.issue);
  if (a.start != b.start || a.cause != b.cause) return std::min(a.start, b.start);
  return std::min(a.end, b.end);
}

}  // namespace

std::optional<TraceDifference> first_difference(const Trace& a, const Trace& b) {
  for (std::size_t l = 0; l < std::min(a.launches.size(), b.launches.size()); ++l) {
    const LaunchTrace &one = a.launches[l], &other = b.launches[l];
    std::optional<std::size_t> first;
    const std::size_t events = std::min(one.events.size(), other.events.size());
    for (std::size_t i = 0; i < events; ++i)
      if (!event_difference(one.events[i], other.events[i]).empty() &&
          (!first || parting(one.events[i], other.events[i]) < parting(one.events[*first], other.events[*first])))
        first = i;
    if (first) return TraceDifference{l, first, event_difference(one.events[*first], other.events[*first])};
    std::string what;
    compare(what, "events", one.events.size(), other.events.size());
    compare(what, "cycles", one.cycles, other.cycles);
    for (const isa::Queue unit : kUnits)
      for (std::size_t c = 0; c < kUnitClassNames.size(); ++c)
        compare(what, fmt::format("{} cycles of {}", isa::name(unit), kUnitClassNames[c]),
                one.classes[isa::index(unit)][c], other.classes[isa::index(unit)][c]);
    if (one.waits && other.waits && *one.waits != *other.waits) {
      for (const isa::Queue unit : kUnits)
        for (std::size_t c = 0; c < kMemoryCauseNames.size(); ++c)
          compare(what, fmt::format("{} cycles of memory, {}", isa::name(unit), kMemoryCauseNames[c]),
                  one.waits->units[isa::index(unit)].cycles[c], other.waits->units[isa::index(unit)].cycles[c]);
      if (what.empty())
        what = one.waits->fetch != other.waits->fetch ? "the activity of fetch" : "the memory waits of instructions";
    }
    if (what.empty() && one.counters && other.counters) what = difference(*one.counters, *other.counters);
    if (!what.empty()) return TraceDifference{l, std::nullopt, what};
  }
  if (a.launches.size() != b.launches.size())
    return TraceDifference{std::min(a.launches.size(), b.launches.size()), std::nullopt,
                           fmt::format("launches {}, not {}", a.launches.size(), b.launches.size())};
  return std::nullopt;
}

namespace {

// The instructions of each launch of a trace.
std::vector<std::span<const isa::Instruction>> launches_of(const std::vector<TracedProgram>& programs) {
  std::vector<std::span<const isa::Instruction>> launches;
  for (const TracedProgram& program : programs)
    for (const isa::Launch& launch : program.launches)
      launches.push_back(std::span(program.program).subspan(launch.begin, launch.count));
  return launches;
}

}  // namespace

std::optional<TraceDifference> first_other_instruction(const Trace& a, const std::vector<TracedProgram>& programs_of_a,
                                                       const Trace& b,
                                                       const std::vector<TracedProgram>& programs_of_b) {
  const auto ones = launches_of(programs_of_a), others = launches_of(programs_of_b);
  for (std::size_t l = 0; l < std::min({ones.size(), others.size(), a.launches.size(), b.launches.size()}); ++l)
    for (std::size_t i = 0; i < std::min(ones[l].size(), others[l].size()); ++i)
      if (ones[l][i] != others[l][i])
        return TraceDifference{
            l, i,
            fmt::format("`{}`, not `{}`", isa::format_instruction(ones[l][i]), isa::format_instruction(others[l][i]))};
  return std::nullopt;
}

std::string neighborhood(const Trace& trace, const TraceDifference& difference, std::size_t around) {
  const LaunchTrace& launch = trace.launches[difference.launch];
  const std::uint64_t middle = launch.events[*difference.event].start;
  std::vector<const TraceEvent*> shown;
  for (const isa::Queue unit : kUnits) {
    std::vector<const TraceEvent*> events;
    for (const TraceEvent& event : launch.events)
      if (event.unit == unit) events.push_back(&event);
    const auto after =
        std::find_if(events.begin(), events.end(), [&](const TraceEvent* event) { return event->end >= middle; });
    const auto begin = after - std::min<std::ptrdiff_t>(after - events.begin(), static_cast<std::ptrdiff_t>(around));
    const auto end = after + std::min<std::ptrdiff_t>(events.end() - after, static_cast<std::ptrdiff_t>(around) + 1);
    shown.insert(shown.end(), begin, end);
  }
  if (const TraceEvent* it = &launch.events[*difference.event];
      std::find(shown.begin(), shown.end(), it) == shown.end())
    shown.push_back(it);
  std::sort(shown.begin(), shown.end(), [](const TraceEvent* a, const TraceEvent* b) {
    return a->start != b->start ? a->start < b->start : a->instruction < b->instruction;
  });
  std::string text;
  for (const TraceEvent* event : shown)
    text += fmt::format("{} {:>8} {:<8} issue {:>9}  start {:>9}  end {:>9}  {:<10} {}\n",
                        event == &launch.events[*difference.event] ? ">" : " ", event->instruction,
                        isa::name(event->unit), event->issue, event->start, event->end,
                        kStallCauseNames[static_cast<std::size_t>(event->cause)], trace.sources[event->source]);
  return text;
}

}  // namespace dovetail::simulator
