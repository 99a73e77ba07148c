#include "remote/relative_path.h"

#include <system_error>

namespace dovetail::remote {

namespace fs = std::filesystem;

Result<fs::path> path_below(const fs::path& folder, const std::string& path) {
  constexpr std::size_t kMostBytes = 512;
  const auto refuse = [&](std::string why) {
    return Diagnostic{"refused a file's name", path.substr(0, 80), std::move(why), "give a relative path"};
  };
  const fs::path relative(path);
  if (path.empty() || path.size() > kMostBytes) return refuse("it is empty, or longer than 512 bytes");
  if (path.find('\0') != path.npos || relative.is_absolute()) return refuse("it is not a relative path");
  for (const fs::path& part : relative)
    if (part.empty() || part == "." || part == "..") return refuse("a part of it is not a name");
  return folder / relative;
}

bool has_link(const fs::path& folder, const std::string& path) {
  fs::path at = folder;
  for (const fs::path& part : fs::path(path)) {
    at /= part;
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(at, ignored))) return true;
  }
  return false;
}

}  // namespace dovetail::remote
