// Temporary files, folders and programs: removed when they are no longer used, and also when the process is ended by
// SIGINT, SIGTERM or SIGHUP. (SIGKILL leaves files; programs end even then, base/child_process.h.)
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace dovetail {

// A file or folder, existing or not: removed, with its contents, at the end of the scope.
class Vanishing {
 public:
  explicit Vanishing(std::filesystem::path path);
  ~Vanishing();
  Vanishing(Vanishing&& other) noexcept;
  Vanishing& operator=(Vanishing&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int slot_ = -1;
};

// A new folder in TMPDIR, named dovetail-`purpose`-XXXXXX. Error: it cannot be created.
Result<Vanishing> make_temporary_folder(std::string_view purpose);

// A process group: killed at the end of the scope.
class VanishingGroup {
 public:
  explicit VanishingGroup(pid_t group);
  ~VanishingGroup();
  VanishingGroup(const VanishingGroup&) = delete;
  VanishingGroup& operator=(const VanishingGroup&) = delete;

 private:
  pid_t group_;
  int slot_;
};

// Removes everything registered, for code that ends the process without leaving scopes. Safe in a signal handler.
void remove_all_vanishing() noexcept;

}  // namespace dovetail
