// The kit's diagnostics name options and commands of the command line; callers of dovetail.h read its names instead.
#pragma once

#include <string>
#include <string_view>

namespace dovetail::capi {

// The text with members, arguments and functions of dovetail.h in place of options and commands: "invalid value for
// --target" as "invalid value for `targets`", "`dovetail compile --dump import` lists the nodes" as
// "`dvt_compile_stages` with `stages` import lists the nodes". A command must be in backquotes. A command that has no
// function is kept.
std::string with_names(std::string_view text);

}  // namespace dovetail::capi
