// The folder of an exported program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/c_source.h"
#include "export/plan.h"

namespace dovetail::exporting {

struct ProjectFile {
  std::string name, text;
};
// All files, of which the folder has nothing else. `archive`: the bytes of NAME.a, if Options::object is given.
std::vector<ProjectFile> project_files(const Plan& plan, const GoldenVector& golden, std::string archive = "");

// Error: the folder has other files than an earlier export of that name wrote, or it is not a folder.
Result<void> check_folder(const std::filesystem::path& folder, const std::string& name);
// Creates the folder, but not its parents. Error: it has other files, or a file cannot be written.
Result<void> write_project(const std::filesystem::path& folder, const Plan& plan, const GoldenVector& golden,
                           std::string archive = "");

// Error: not an identifier of C that can begin names.
Result<void> check_name(const std::string& name);

}  // namespace dovetail::exporting
