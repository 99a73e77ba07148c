// The pages of reports: HTML that needs nothing but a browser.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "simulator/trace/trace.h"

namespace dovetail::cli {

// The page of a report, JSON that a command prints or writes. Errors: its "kind" has no page; a member is missing or
// has another type. `where` names the report in diagnostics.
Result<std::string> page_of(const Json& report, std::string_view where);

// The page of a trace file, whose events are `trace`. Error: the file does not contain the programs.
Result<std::string> trace_page(const Json& file, const simulator::Trace& trace, std::string_view where);

}  // namespace dovetail::cli
