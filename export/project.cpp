#include "export/project.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "export/c_accelerator.h"
#include "export/c_text.h"
#include "export/shared_files.h"
#include "isa/emit/emit.h"

namespace dovetail::exporting {

namespace fs = std::filesystem;

namespace {

// Without an accelerator, the run function of objects is an object too.
bool has_source(const Plan& plan) { return !plan.options.object || plan.accelerator; }

// All files that an export of that name may write.
std::vector<std::string> own_files(const std::string& name) {
  std::vector<std::string> files{name + ".h",      name + ".c",      name + ".a",  fmt::format("test_{}.c", name),
                                 "dovetail_isa.h", "CMakeLists.txt", "README.txt", kHardwareFile};
  for (const SharedFile& file : shared_files()) files.emplace_back(file.name);
  return files;
}

}  // namespace

std::vector<ProjectFile> project_files(const Plan& plan, const GoldenVector& golden, std::string archive) {
  const std::string& name = plan.options.name;
  std::vector<ProjectFile> files{{name + ".h", header_text(plan)}};
  if (has_source(plan)) files.push_back({name + ".c", source_text(plan)});
  if (plan.options.object) files.push_back({name + ".a", std::move(archive)});
  for (const SharedFile& file : shared_files())
    if (plan.accelerator || file.of == SharedFile::Of::every)
      files.push_back({std::string(file.name), std::string(file.text)});
  if (plan.accelerator) {
    isa::HardwareConfig config = plan.accelerator->configs.front();
    config.name = comment_text(config.name);  // which the header has in comments
    files.push_back({"dovetail_isa.h", isa::emit_c_header(config)});
    files.push_back({kHardwareFile, hardware_json(*plan.accelerator).dump(1) + "\n"});
  }
  files.push_back({fmt::format("test_{}.c", name), test_text(plan, golden)});
  files.push_back({"CMakeLists.txt", cmake_text(plan)});
  files.push_back({"README.txt", readme_text(plan)});
  return files;
}

Result<void> check_folder(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status))
    return Diagnostic{"cannot export", folder.string(), "it exists and is not a folder", "name another folder with -o"};
  const std::vector<std::string> own = own_files(name);
  std::vector<std::string> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (const std::string file = entry.path().filename().string(); std::ranges::find(own, file) == own.end())
      others.push_back(file);
  if (error) return Diagnostic{"cannot export", folder.string(), error.message(), "name another folder with -o"};
  if (others.empty()) return {};
  std::ranges::sort(others);
  constexpr std::size_t kShown = 3;
  const std::size_t count = others.size();
  others.resize(std::min(count, kShown));
  return Diagnostic{
      "cannot export", folder.string(),
      fmt::format("the folder has {} of another origin: {}{}", count == 1 ? "a file" : "files", fmt::join(others, ", "),
                  count > kShown ? ", ..." : ""),
      "name a new or an empty folder with -o; files of an earlier export with the same --name are replaced"};
}

Result<void> write_project(const fs::path& folder, const Plan& plan, const GoldenVector& golden, std::string archive) {
  DOVETAIL_TRY(check_folder(folder, plan.options.name));
  std::error_code error;
  fs::create_directory(folder, error);
  if (error)
    return Diagnostic{"cannot export", folder.string(), error.message(), "name a folder in an existing one with -o"};
  std::vector<std::string> others = own_files(plan.options.name);  // of an earlier export with other options
  for (const ProjectFile& file : project_files(plan, golden, std::move(archive))) {
    DOVETAIL_TRY(write_text_file(folder / file.name, file.text));
    std::erase(others, file.name);
  }
  for (const std::string& file : others) fs::remove(folder / file, error);
  return {};
}

Result<void> check_name(const std::string& name) {
  constexpr std::size_t kLongest = 20;
  if (!name.empty() && name.size() <= kLongest && identifier(name) == name && !name.starts_with("dovetail")) return {};
  return Diagnostic{"invalid value for --name", name,
                    name.size() > kLongest ? fmt::format("the name has {} characters > {}", name.size(), kLongest)
                                           : "it cannot begin the names of a C program",
                    "give a letter, then letters, digits and single _, no keyword of C, for example net"};
}

}  // namespace dovetail::exporting
