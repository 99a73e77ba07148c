// Names of tensors and nodes, as files and users write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::driver {

// A name as it appears in files and on the command line: every character (code point of UTF-8; a byte where it is none)
// outside A-Za-z0-9_.- becomes '_'.
std::string plain_name(std::string_view name);
// The one of `names` that `given` means: itself, or the only one whose plain name is `given`'s. `kind`: "input",
// "node". `source`: what gave the name, in diagnostics.
Result<std::string> match_name(std::string_view source, std::string_view kind, const std::vector<std::string>& names,
                               std::string_view given);

}  // namespace dovetail::driver
