#include "base/user_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dovetail {

namespace {

namespace fs = std::filesystem;

struct Place {
  const char* variable;
  const char* in_home;
};
constexpr Place place_of(UserFolder kind) {
  return kind == UserFolder::cache ? Place{"XDG_CACHE_HOME", ".cache"} : Place{"XDG_STATE_HOME", ".local/state"};
}

// A relative path would name another folder in each working directory: the specification says to ignore it.
std::optional<fs::path> absolute_path(const char* variable) {
  const auto value = environment(variable);
  return value && fs::path(*value).is_absolute() ? std::optional<fs::path>(*value) : std::nullopt;
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

Result<fs::path> user_folder(UserFolder kind) {
  const Place place = place_of(kind);
  if (const auto given = absolute_path(place.variable)) return *given / "dovetail";
  if (const auto home = absolute_path("HOME")) return *home / place.in_home / "dovetail";
  return Diagnostic{"this user has no folder", place.variable,
                    fmt::format("neither {} nor HOME is set to an absolute path", place.variable),
                    fmt::format("set {} to a folder that no other user can write to", place.variable)};
}

Result<void> make_private_folder(const fs::path& path) {
  const auto bad = [&](const fs::path& where, std::string why, std::string hint, Cause cause = Cause::input) {
    return Diagnostic{"cannot make the folder", where.string(), std::move(why), std::move(hint), cause};
  };
  fs::path made;
  for (const fs::path& name : path) {
    made /= name;
    std::error_code error;
    if (fs::is_directory(made, error)) continue;
    if (::mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    return bad(made, std::strerror(errno), "choose a writable folder with free space", cause_of(errno));
  }
  std::error_code error;
  if (!fs::is_directory(path, error))
    return bad(path, "the path is not a folder", "choose another path, or remove the file");
  if (auto why = other_hands(path))
    return bad(path, *std::move(why), "choose a folder that you own, or take ownership of this one: chown, chmod go-w");
  return {};
}

void keep_recent_files(const fs::path& file, std::uintmax_t most_bytes) {
  struct Kept {
    fs::path path;
    fs::file_time_type written;
    std::uintmax_t bytes;
  };
  std::vector<Kept> all;
  std::uintmax_t sum = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path(), error)) {
    Kept kept{entry.path(), entry.last_write_time(error), entry.file_size(error)};
    if (error) continue;  // another process has removed it
    sum += kept.bytes;
    all.push_back(std::move(kept));
  }
  std::ranges::sort(all, {}, &Kept::written);
  for (const Kept& kept : all) {
    if (sum <= most_bytes) break;
    if (kept.path == file) continue;
    fs::remove(kept.path, error);
    sum -= kept.bytes;
  }
}

std::optional<std::string> other_hands(const fs::path& path) {
  struct ::stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fmt::format("{} belongs to user {}, but this is user {}", path.string(), status.st_uid, ::geteuid());
  if ((status.st_mode & S_IWOTH) != 0) return fmt::format("everyone can write to {}", path.string());
  if ((status.st_mode & S_IWGRP) != 0 && status.st_gid != ::geteuid())
    return fmt::format("group {1} can write to {0}", path.string(), status.st_gid);
  return std::nullopt;
}

}  // namespace dovetail
