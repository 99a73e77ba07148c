// The report of `dovetail compile`.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/compile_model.h"

namespace dovetail::cli {

// The report as text: import, placement, program, stages.
std::string report_text(const driver::CompiledModel& model, const std::string& path);
// The report as JSON: "kind": "compile".
Json report_json(const driver::CompiledModel& model, const std::string& path);

}  // namespace dovetail::cli
