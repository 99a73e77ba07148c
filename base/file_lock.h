// A lock between processes: a file that at most one process locks. The lock ends with its process, however that process
// ends.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "base/result.h"

namespace dovetail {

class FileLock {
 public:
  // Waits until no other process holds the lock; `on_wait` is called once before waiting. The file is created if
  // missing, and stays. Error: it cannot be created, or its file system has no locks.
  static Result<FileLock> take(const std::filesystem::path& path, const std::function<void()>& on_wait = nullptr);
  // nullopt if another process has the lock.
  static Result<std::optional<FileLock>> try_take(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;  // -1: moved away
};

}  // namespace dovetail
