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
// The same for the hints in the report of a compilation: the notes of the import, and the remedy where nodes left the
// accelerator. Other reports have commands to be copied, which are kept.
void name_hints(Json& report);

}  // namespace dovetail::capi
