#include "cli/report/trace_report.h"

#include <utility>

#include "isa/verify/token_use.h"

namespace dovetail::cli {

namespace {

Json difference_json(const std::optional<simulator::TraceDifference>& difference, const simulator::Trace& a) {
  if (!difference) return nullptr;
  Json json{{"launch", difference->launch}, {"instruction", nullptr}, {"what", difference->what}};
  if (difference->event) json["instruction"] = a.launches[difference->launch].events[*difference->event].instruction;
  return json;
}

}  // namespace

Result<TraceFile> trace_file_of(const Json& json, const std::string& name) {
  DOVETAIL_ASSIGN(simulator::Trace trace, simulator::trace_from_json(json, name));
  TraceFile file{name, std::move(trace), std::nullopt, {}};
  if (json.contains("programs")) {
    DOVETAIL_ASSIGN(file.programs, simulator::traced_programs_from_json(json["programs"], file.trace, name));
  }
  DOVETAIL_ASSIGN(file.time, simulator::run_time_from_json(json.value("time", Json(nullptr)), name));
  return file;
}

TraceSummary sum_up(const simulator::Trace& trace) {
  TraceSummary sum{.waits = std::array<simulator::MemorySplit, 3>{}, .fetch = {}, .counters = simulator::Counters{}};
  for (const simulator::LaunchTrace& launch : trace.launches) {
    sum.cycles += launch.cycles;
    sum.instructions += launch.events.size();
    for (std::size_t u = 0; u < sum.classes.size(); ++u)
      for (std::size_t c = 0; c < sum.classes[u].size(); ++c) sum.classes[u][c] += launch.classes[u][c];
    if (!launch.counters) sum.counters.reset();
    else if (sum.counters) *sum.counters += *launch.counters;
    if (!launch.waits) sum.waits.reset();
    if (!sum.waits) continue;
    for (std::size_t u = 0; u < sum.waits->size(); ++u) (*sum.waits)[u] += launch.waits->units[u];
    sum.fetch += launch.waits->fetch;
  }
  return sum;
}

Json trace_json(const TraceFile& file, const TraceSummary& summary) {
  Json units, waits;
  for (const isa::Queue unit : {isa::Queue::load, isa::Queue::compute, isa::Queue::store}) {
    const std::string name(isa::name(unit));
    for (std::size_t c = 0; c < simulator::kUnitClassNames.size(); ++c)
      units[name][std::string(simulator::kUnitClassNames[c])] = summary.classes[isa::index(unit)][c];
    if (summary.waits) waits[name] = simulator::to_json((*summary.waits)[isa::index(unit)]);
  }
  if (summary.waits) waits["fetch"] = simulator::to_json(summary.fetch);
  return {{"kind", "trace"},
          {"file", file.name},
          {"launches", file.trace.launches.size()},
          {"instructions", summary.instructions},
          {"cycles", summary.cycles},
          {"clock_mhz", file.time.clock_mhz ? Json(*file.time.clock_mhz) : Json(nullptr)},
          {"units", units},
          {"waits", waits},
          {"counters", summary.counters ? to_json(*summary.counters) : Json(nullptr)}};
}

TraceComparison compare_traces(const TraceFile& a, const TraceFile& b) {
  TraceComparison found{.instructions_compared = a.programs && b.programs, .instructions = {}, .cycles = {}};
  if (found.instructions_compared)
    found.instructions = simulator::first_other_instruction(a.trace, *a.programs, b.trace, *b.programs);
  found.cycles = simulator::first_difference(a.trace, b.trace);
  return found;
}

Json trace_diff_json(const TraceFile& a, const TraceFile& b, const TraceComparison& found) {
  return {{"kind", "trace-diff"},
          {"a", a.name},
          {"b", b.name},
          {"equal", found.equal()},
          {"instructions_compared", found.instructions_compared},
          {"instructions", difference_json(found.instructions, a.trace)},
          {"cycles", difference_json(found.cycles, a.trace)}};
}

}  // namespace dovetail::cli
