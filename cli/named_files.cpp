#include "cli/named_files.h"

#include <filesystem>

#include <fmt/format.h>

namespace dovetail::cli {

namespace {

namespace fs = std::filesystem;

struct Use {
  std::string option, path;
  File role;
};

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::file_status status = fs::status(a, error);
  if (fs::exists(status)) return fs::is_regular_file(status) && fs::equivalent(a, b, error) && !error;
  const fs::path canonical = fs::weakly_canonical(a, error);
  return !error && canonical == fs::weakly_canonical(b, error) && !error;
}

}  // namespace

void NamedFiles::add(std::string_view option, File role, std::function<std::vector<std::string>()> paths) {
  if (role != File::none) files_.push_back({std::string(option), role, std::move(paths)});
}

Result<void> NamedFiles::check(std::string_view option, const std::vector<std::string>& further) const {
  std::vector<Use> uses;
  for (const Named& named : files_)
    for (const std::string& path : named.paths()) uses.push_back({named.option, path, named.role});
  for (const std::string& path : further) uses.push_back({std::string(option), path, File::written});
  for (const Use& written : uses) {
    if (written.role != File::written) continue;
    for (const Use& other : uses) {
      if (&other == &written || !is_same_file(written.path, other.path)) continue;
      return Diagnostic{"bad usage", written.path,
                        fmt::format("{} would overwrite what {} {}", written.option, other.option,
                                    other.role == File::read ? "reads" : "writes"),
                        "name another file"};
    }
  }
  return {};
}

}  // namespace dovetail::cli
