#include "tests/torture/traces.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "isa/verify/token_machine.h"

namespace dovetail::test {

namespace {

std::string text(const simulator::TraceEvent& event) {
  return fmt::format("issue {}, start {} ({}), end {}", event.issue, event.start,
                     simulator::kStallCauseNames[static_cast<std::size_t>(event.cause)], event.end);
}

}  // namespace

std::optional<std::string> check_trace(const GeneratedProgram& program, const isa::Launch& launch,
                                       const simulator::LaunchTrace& trace) {
  std::array<std::optional<simulator::TraceEvent>, 3> before;
  std::uint64_t last = 0, issued = 0;
  for (const simulator::TraceEvent& event : trace.events) {
    const std::size_t unit = isa::index(event.unit);
    if (event.unit != program.program[event.instruction].queue())
      return fmt::format("instruction {} ran in another unit", event.instruction);
    if (event.issue <= issued && event.instruction != launch.begin)
      return fmt::format("instruction {} was issued out of order", event.instruction);
    if (event.start <= event.issue || event.end <= event.start)
      return fmt::format("instruction {}: issue, start and end do not ascend", event.instruction);
    if (before[unit] && (event.start <= before[unit]->start || event.end <= before[unit]->end))
      return fmt::format("instruction {} overtook the one before it in its unit", event.instruction);
    before[unit] = event;
    issued = event.issue;
    last = std::max(last, event.end);
  }
  if (trace.cycles != std::max<std::uint64_t>(1, last + 1))
    return fmt::format("{} cycles, but the last end is in {}", trace.cycles, last);
  for (const auto& classes : trace.classes) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : classes) sum += count;
    if (sum != trace.cycles) return fmt::format("classes of cycles sum to {}, not to {}", sum, trace.cycles);
  }
  return std::nullopt;
}

std::optional<std::string> compare_events(std::string_view engine, const simulator::LaunchTrace& trace,
                                          const simulator::LaunchTrace& cycle) {
  if (trace.events.size() != cycle.events.size())
    return fmt::format("{} has {} events, the cycle simulator {}", engine, trace.events.size(), cycle.events.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    if (!(trace.events[i] == cycle.events[i]))
      return fmt::format("instruction {}: {} has {}; the cycle simulator {}", trace.events[i].instruction, engine,
                         text(trace.events[i]), text(cycle.events[i]));
  return std::nullopt;
}

std::optional<std::string> compare_times(std::string_view engine, const simulator::LaunchTrace& trace,
                                         const simulator::LaunchTrace& cycle) {
  if (auto wrong = compare_events(engine, trace, cycle)) return wrong;
  if (trace.cycles != cycle.cycles)
    return fmt::format("{} takes {} cycles, the cycle simulator {}", engine, trace.cycles, cycle.cycles);
  for (std::size_t unit = 0; unit < trace.classes.size(); ++unit)
    for (std::size_t c = 0; c < trace.classes[unit].size(); ++c)
      if (trace.classes[unit][c] != cycle.classes[unit][c])
        return fmt::format("unit {}, class {}: {} cycles in {}, {} in the cycle simulator",
                           isa::name(static_cast<isa::Queue>(unit)), simulator::kUnitClassNames[c],
                           trace.classes[unit][c], engine, cycle.classes[unit][c]);
  if (!trace.waits || !cycle.waits) return "one of them does not report what waits for memory were for";
  if (trace.waits == cycle.waits) return std::nullopt;
  const auto names = [](const simulator::MemorySplit& split) {
    std::string text;
    for (std::size_t c = 0; c < split.cycles.size(); ++c)
      text += fmt::format(" {} {}", simulator::kMemoryCauseNames[c], split.cycles[c]);
    return text;
  };
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    if (trace.waits->instructions[i] != cycle.waits->instructions[i])
      return fmt::format("instruction {} waits for memory:{} in {},{} in the cycle simulator",
                         trace.events[i].instruction, names(trace.waits->instructions[i]), engine,
                         names(cycle.waits->instructions[i]));
  return fmt::format("what fetch did, or the traffic: memory{} in {},{} in the cycle simulator",
                     names(trace.waits->fetch.memory), engine, names(cycle.waits->fetch.memory));
}

}  // namespace dovetail::test
