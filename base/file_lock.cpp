#include "base/file_lock.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace dovetail {

namespace {

// Whether the lock was taken; an interrupting signal is retried.
bool lock(int file, int operation) {
  int result = 0;
  do result = ::flock(file, operation);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

Diagnostic failure(const std::filesystem::path& path) {
  return {"cannot lock", path.string(), std::strerror(errno), "check the permissions of its folder", cause_of(errno)};
}

// Close-on-exec: programs started by this one must not keep the lock after it is released.
int open_lock(const std::filesystem::path& path) { return ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666); }

}  // namespace

Result<std::optional<FileLock>> FileLock::try_take(const std::filesystem::path& path) {
  FileLock held(open_lock(path));
  if (held.file_ < 0) return failure(path);
  if (lock(held.file_, LOCK_EX | LOCK_NB)) return std::optional<FileLock>(std::move(held));
  if (errno != EWOULDBLOCK) return failure(path);
  return std::optional<FileLock>();
}

Result<FileLock> FileLock::take(const std::filesystem::path& path, const std::function<void()>& on_wait) {
  FileLock held(open_lock(path));
  if (held.file_ < 0) return failure(path);
  if (lock(held.file_, LOCK_EX | LOCK_NB)) return held;
  if (errno != EWOULDBLOCK) return failure(path);
  if (on_wait) on_wait();
  if (!lock(held.file_, LOCK_EX)) return failure(path);
  return held;
}

FileLock::FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace dovetail
