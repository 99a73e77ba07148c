// The activity of the units in a trace, and the differences of two traces: for `dovetail trace` and the C interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "simulator/counters.h"
#include "simulator/trace/diff.h"
#include "simulator/trace/page.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/traced_program.h"

namespace dovetail::cli {

// The content of a trace file.
struct TraceFile {
  std::string name;
  simulator::Trace trace;
  std::optional<std::vector<simulator::TracedProgram>> programs;  // nullopt: the file does not hold them
  simulator::RunTime time;
};
Result<TraceFile> trace_file_of(const Json& json, const std::string& name);

// Sums over the launches of a trace.
struct TraceSummary {
  std::uint64_t cycles = 0, instructions = 0;
  std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3> classes{};
  std::optional<std::array<simulator::MemorySplit, 3>> waits;  // nullopt: not all launches have them
  simulator::FetchTime fetch;
  std::optional<simulator::Counters> counters;  // likewise
};
TraceSummary sum_up(const simulator::Trace& trace);
Json trace_json(const TraceFile& file, const TraceSummary& summary);  // docs/schema/trace.json

struct TraceComparison {
  bool instructions_compared = false;  // both files hold their programs
  std::optional<simulator::TraceDifference> instructions, cycles;
  bool equal() const { return !instructions && !cycles; }
};
TraceComparison compare_traces(const TraceFile& a, const TraceFile& b);
Json trace_diff_json(const TraceFile& a, const TraceFile& b,
                     const TraceComparison& found);  // docs/schema/trace-diff.json

}  // namespace dovetail::cli
