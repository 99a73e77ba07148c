// A lock between processes: a file that at most one of them holds. It ends with its holder, however that one ends.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "base/result.h"

namespace dovetail {

class FileLock {
 public:
  // Waits until nobody else holds it; `on_wait` is called once before that, if somebody does. The file is created where
  // there is none, and stays. Error: it cannot be created, or its file system knows no locks.
  static Result<FileLock> take(const std::filesystem::path& path, const std::function<void()>& on_wait = nullptr);
  // Nothing where somebody else holds it.
  static Result<std::optional<FileLock>> try_take(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;  // -1: moved away
};

}  // namespace dovetail
