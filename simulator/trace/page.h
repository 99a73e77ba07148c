// A timed run as one self-contained HTML page: timeline, cycle breakdown, roofline, layers, other hardware.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "simulator/memory/memory.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// The values that convert the trace to seconds, as far as they are known.
struct RunTime {
  std::optional<double> clock_mhz = std::nullopt;
  std::optional<double> other_ms = std::nullopt;  // of a model's steps on other devices, from its input to its output
};
// Null for unknown values: {"clock_mhz", "other_ms"}.
Json to_json(const RunTime& time);
// Error: values that are not numbers, or out of range. Null gives an empty result.
Result<RunTime> run_time_from_json(const Json& json, std::string_view where);

// The launches of `programs`, one program after the other, are those of the trace, which has their events. `energy`:
// null, or the estimated energy of the run on a chip, {"joules", "parts": [{"component", "place", "joules"}],
// "missing", "statement"}.
std::string page_text(std::string_view title, const Trace& trace, const std::vector<TracedProgram>& programs,
                      const MemorySpec& memory, const RunTime& time, const Json& energy = nullptr);

}  // namespace dovetail::simulator
