// The kit's diagnostics name options and commands of the command line; callers of dovetail.h read its names instead.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace dovetail::capi {

// The text with members, arguments and functions of dovetail.h in place of options and commands: "invalid value for
// --target" as "invalid value for `targets`", "`dovetail compile --dump import` lists the nodes" as
// "`dvt_compile_stages` with `stages` import lists the nodes". A command must be in backquotes. A command that has no
// function is kept.
std::string with_names(std::string_view text);
// The report with the same in its hints: the entries "hint", "missing", "notes", "remedy" and "why", at any depth.
// Commands that are to be copied have other entries.
Json with_named_hints(Json report);

}  // namespace dovetail::capi
