// Programs stored next to their trace in one file, so that the file alone describes the run.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// [{"name", "hardware": a configuration, "instructions": base64 of the program, "launches": [[begin, count], ...],
// "what_if": [...], "useful_macs": {source: number, ...}}]; of accelerators that differ also "others": configurations,
// "accelerators": [[begin, count, accelerator], ...] of the instructions. Error: a program that cannot be encoded.
Result<Json> to_json(const std::vector<TracedProgram>& programs);
// Errors: missing or malformed values; launches and events other than those of the trace.
Result<std::vector<TracedProgram>> traced_programs_from_json(const Json& json, const Trace& trace,
                                                             std::string_view where);

}  // namespace dovetail::simulator
