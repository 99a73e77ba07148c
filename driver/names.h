// Names of tensors and nodes, as files and users write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::driver {

// A name in its form for files and the command line: every character (UTF-8 code point; a byte of invalid UTF-8)
// outside A-Za-z0-9_.- becomes '_'.
std::string plain_name(std::string_view name);
// The name in `names` that equals `given`, or else the only one with the same plain name as `given`. `kind`: "input",
// "node". `source`: what gave the name, in diagnostics.
Result<std::string> match_name(std::string_view source, std::string_view kind, const std::vector<std::string>& names,
                               std::string_view given);

}  // namespace dovetail::driver
