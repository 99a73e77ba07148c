#include "base/file_lock.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fault.h"

namespace dovetail {

namespace {

// Whether the lock was taken; a signal does not count as an answer.
bool lock(int file, int operation) {
  int result = 0;
  do result = ::flock(file, operation);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

Result<FileLock> FileLock::take(const std::filesystem::path& path, const std::function<void()>& on_wait) {
  const auto bad = [&] {
    return Diagnostic{"cannot lock", path.string(), std::strerror(errno), "check the permissions of its folder",
                      cause_of(errno)};
  };
  // Closed in programs that this one starts: they must not hold the lock when it is gone.
  FileLock held(refused_for_test(Refusable::write) ? -1 : ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (held.file_ < 0) return bad();
  if (lock(held.file_, LOCK_EX | LOCK_NB)) return held;
  if (errno != EWOULDBLOCK) return bad();
  if (on_wait) on_wait();
  if (!lock(held.file_, LOCK_EX)) return bad();
  return held;
}

FileLock::FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace dovetail
