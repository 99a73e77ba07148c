// Paths that another machine gives: of files below a folder, and nowhere else.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace dovetail::remote {

// The file's path. Error: `path` is not relative, has a part "..", or is too long.
Result<std::filesystem::path> path_below(const std::filesystem::path& folder, const std::string& path);

// Whether a part of the path below the folder is a symbolic link.
bool has_link(const std::filesystem::path& folder, const std::string& path);

}  // namespace dovetail::remote
