// A trace as a file: JSON that trace_from_json parses, and that Perfetto (ui.perfetto.dev) and chrome://tracing
// display. One track per unit, a slice per instruction, an arrow per token; counters for the depth of queues and FIFOs,
// and for the beats on the port. A microsecond on screen is a cycle.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "isa/instruction.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// `programs`: the instructions of each launch of the trace. Launches follow each other on the time axis. A slice begins
// when its instruction starts, or when the preceding slice ends, if that is later: units overlap instructions, but
// slices must not overlap; `args` has the true cycles. `more` is an object whose members are added to those of the
// trace.
std::string perfetto_text(const Trace& trace, const std::vector<std::span<const isa::Instruction>>& programs,
                          const Json& more = Json::object());

}  // namespace dovetail::simulator
