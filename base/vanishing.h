// Files, folders and programs that are there for a moment: gone when they are done with, and also when the process is
// ended by SIGINT, SIGTERM or SIGHUP. (SIGKILL leaves files behind; programs end even then, base/child_process.h.)
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"

namespace dovetail {

// A file or folder, whether it is there yet or not: removed, with all in it, at the end of the scope.
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

// A fresh folder in TMPDIR, named dovetail-`purpose`-XXXXXX. Error: it cannot be made.
Result<Vanishing> make_temporary_folder(std::string_view purpose);

// A group of processes: killed at the end of the scope.
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

// For who ends the process without leaving scopes: all that is there goes. May be called by a signal handler.
void remove_all_vanishing() noexcept;

}  // namespace dovetail
