// The report of `dovetail compile`.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/compile_model.h"

namespace dovetail::cli {

// The report that people read: import, placement, program, stages.
std::string report_text(const driver::CompiledModel& model, const std::string& path);
// And the one for machines: "kind": "compile".
Json report_json(const driver::CompiledModel& model, const std::string& path);

}  // namespace dovetail::cli
