// Writes a bundle to a file that this user may run.
#pragma once

#include <string>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::cli {

// Error: a file that `dovetail run` would not read as a bundle. Call it before the work.
Result<void> check_bundle_name(const std::string& path, std::string_view command);
// Prints the file's size. If the bundle has machine code, its SHA-256 is recorded.
Result<void> write_bundle(const bundle::Bundle& bundle, const std::string& path);

}  // namespace dovetail::cli
