// A timed run as one HTML page that needs nothing but a browser: timeline, where the cycles went, roofline, layers,
// other hardware.
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

// What turns the trace into seconds, as far as it is known.
struct RunTime {
  std::optional<double> clock_mhz = std::nullopt;
  std::optional<double> other_ms = std::nullopt;  // of a model's steps elsewhere, from its input to its output
};
// {"clock_mhz", "other_ms"}, null where it is not known.
Json to_json(const RunTime& time);
// Error: numbers that are none, or out of range. Null gives a time without any.
Result<RunTime> run_time_from_json(const Json& json, std::string_view where);

// The launches of `programs`, one program after the other, are those of the trace, which has their events. `energy`:
// null, or what the run would cost on a chip, {"joules", "parts": [{"component", "place", "joules"}], "missing",
// "statement"}.
std::string page_text(std::string_view title, const Trace& trace, const std::vector<TracedProgram>& programs,
                      const MemorySpec& memory, const RunTime& time, const Json& energy = nullptr);

}  // namespace dovetail::simulator
