// Temporary files, folders and programs: removed when they are no longer used, and also when the process is ended by
// SIGINT, SIGTERM or SIGHUP. (SIGKILL leaves files; programs end even then, base/child_process.h.)
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace dovetail {

// A file or folder, existing or not: removed, with its contents, at the end of the scope.
class TemporaryPath {
 public:
  explicit TemporaryPath(std::filesystem::path path);
  ~TemporaryPath();
  TemporaryPath(TemporaryPath&& other) noexcept;
  TemporaryPath& operator=(TemporaryPath&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int slot_ = -1;
};

// A new folder in TMPDIR, named dovetail-`purpose`-XXXXXX. Error: it cannot be created.
Result<TemporaryPath> make_temporary_folder(std::string_view purpose);

// A process group: killed at the end of the scope.
class TemporaryProcessGroup {
 public:
  explicit TemporaryProcessGroup(pid_t group);
  ~TemporaryProcessGroup();
  TemporaryProcessGroup(const TemporaryProcessGroup&) = delete;
  TemporaryProcessGroup& operator=(const TemporaryProcessGroup&) = delete;

 private:
  pid_t group_;
  int slot_;
};

// Removes everything registered, for code that ends the process without leaving scopes. Safe in a signal handler.
void remove_temporaries() noexcept;

}  // namespace dovetail
