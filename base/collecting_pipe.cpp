#include "base/collecting_pipe.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/thread.h"

namespace dovetail {

Result<std::unique_ptr<CollectingPipe>> CollectingPipe::make() {
  const auto none = [](const char* what, int error) {
    return Diagnostic{what, "", std::strerror(error), "raise the limits (`ulimit -a`)", Cause::resource};
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return none("cannot make a pipe", errno);
  std::unique_ptr<CollectingPipe> pipe(new CollectingPipe(ends[0], ends[1]));
  try {
    pipe->reader_ = start_thread([raw = pipe.get()] { raw->read(); });
  } catch (const std::system_error& error) {
    return none("cannot start a thread", error.code().value());
  }
  return pipe;
}

CollectingPipe::~CollectingPipe() { end(); }

std::string CollectingPipe::path() const { return fmt::format("/proc/self/fd/{}", to_); }

std::vector<std::byte> CollectingPipe::finish() {
  end();
  if (exception_) std::rethrow_exception(exception_);
  return std::move(bytes_);
}

// Read to the end even after a failure: the writer must not block forever.
void CollectingPipe::read() {
  std::array<std::byte, 1 << 16> piece;
  for (;;) {
    const ssize_t count = ::read(from_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    try {
      if (!exception_) bytes_.insert(bytes_.end(), piece.begin(), piece.begin() + count);
    } catch (...) {
      exception_ = std::current_exception();
    }
  }
}

void CollectingPipe::end() {
  if (to_ >= 0) ::close(std::exchange(to_, -1));
  if (reader_.joinable()) reader_.join();
  if (from_ >= 0) ::close(std::exchange(from_, -1));
}

}  // namespace dovetail
