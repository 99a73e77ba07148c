#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/expected_file.h"
#include "base/memory_limit.h"
#include "base/temporary.h"

namespace dovetail {

namespace {

namespace fs = std::filesystem;

constexpr int kPatienceMilliseconds = 2000;  // for a program that is about to write to a pipe

// A file that is open for reading. Closes it when destroyed.
class ReadFile {
 public:
  // A pipe is opened without waiting for its writer, which may never come.
  ReadFile(const fs::path& path, bool is_pipe)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (is_pipe ? O_NONBLOCK : 0))), connected_(!is_pipe) {}
  ~ReadFile() {
    if (file_ >= 0) ::close(file_);
  }
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  bool opened() const { return file_ >= 0; }
  // Whether the end was reached because no program has opened the pipe for writing.
  bool lacks_writer() const { return lacks_writer_; }

  // Fills `bytes` as far as the file has bytes; nullopt: errno holds the reason.
  std::optional<std::size_t> read(std::span<std::byte> bytes) {
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t count = ::read(file_, bytes.data() + filled, bytes.size() - filled);
      if (count > 0) filled += static_cast<std::size_t>(count);
      if (count > 0 || (count < 0 && errno == EINTR)) continue;
      if (count < 0 && errno != EAGAIN) return std::nullopt;
      if (count == 0 && (connected_ || filled > 0 || lacks_writer_)) break;
      wait(count == 0);
    }
    return filled;
  }

 private:
  // Without a writer read() reports the end at once; with one that is slow, EAGAIN.
  void wait(bool for_writer) {
    pollfd ready{file_, POLLIN, 0};
    const int events = ::poll(&ready, 1, for_writer ? kPatienceMilliseconds : -1);
    if (events > 0) connected_ = true;
    else if (events == 0) lacks_writer_ = true;
  }

  int file_;
  bool connected_;  // a program writes, or has written, to it
  bool lacks_writer_ = false;
};

Diagnostic read_error(const fs::path& path, std::string why, std::string hint) {
  return {"cannot read file", path.string(), std::move(why), std::move(hint)};
}

Diagnostic read_failure(const fs::path& path, int error_number, std::string hint) {
  Diagnostic problem = read_error(path, std::strerror(error_number), std::move(hint));
  problem.cause = cause_of(error_number);
  return problem;
}

// Sizes from the file system are not trusted: the file may grow, or be a pipe. But a file whose reported size already
// exceeds the limit is not read.
template <typename Container>
Result<Container> read_whole(const fs::path& path, std::size_t limit_bytes, const ExpectedFile& expected = {}) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return read_error(path, "no such file", "check the path; it is relative to the current folder");
  if (fs::is_directory(status)) return read_error(path, "the path is a directory", "name a file in the directory");
  errno = 0;
  ReadFile file(path, fs::is_fifo(status));
  if (!file.opened()) return read_failure(path, errno, "check the permissions");

  const auto too_large = [&](const std::string& size) {
    return read_error(path, fmt::format("{} bytes > limit {} bytes", size, limit_bytes),
                      "check that it is the right file");
  };
  std::size_t known_bytes = 0;
  if (fs::is_regular_file(status)) {
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error && size > limit_bytes) return too_large(fmt::format("{}", size));
    if (!error) DOVETAIL_TRY(check_memory("cannot read file", path.string(), size));
    if (!error) known_bytes = static_cast<std::size_t>(size);
  }
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  Container content;
  std::size_t filled = 0, ask_at = kChunkBytes;
  for (;;) {
    // One byte more than the known size, so that the end is seen without another chunk.
    const std::size_t requested = filled < known_bytes + 1 ? known_bytes + 1 - filled : kChunkBytes;
    // Growing takes the old memory, and twice as much.
    if (filled > known_bytes && filled + requested > content.capacity())
      DOVETAIL_TRY(check_memory("cannot read file", path.string(), 3 * std::uint64_t{content.capacity()}));
    content.resize(filled + requested);
    const auto got = file.read(std::as_writable_bytes(std::span(content).subspan(filled)));
    if (!got) return read_failure(path, errno, "check the medium");
    filled += *got;
    if (file.lacks_writer() && filled == 0)
      return read_error(path, "the path is a pipe, and no program writes to it",
                        "name a file, or start the program that writes to the pipe");
    if (filled > limit_bytes) return too_large(fmt::format("at least {}", filled));
    if (*got < requested) break;
    if (filled < ask_at || fs::is_regular_file(status) || !expected.may_begin) continue;
    if (!expected.may_begin(std::as_bytes(std::span(content.data(), filled))))
      return read_error(path, fmt::format("its first {} bytes do not begin {}", filled, expected.kind),
                        "is it the right file?");
    ask_at = 2 * filled;
  }
  content.resize(filled);
  return content;
}

// errno decides whether the cause is the input or the machine.
Diagnostic write_error(const fs::path& path, int error_number) {
  const Cause cause = cause_of(error_number);
  return {"cannot write file", path.string(), std::strerror(error_number),
          cause == Cause::resource ? "free some space, or choose another folder" : "check the path and the permissions",
          cause};
}
Diagnostic write_refusal(const fs::path& path, std::string why, std::string hint) {
  return {"cannot write file", path.string(), std::move(why), std::move(hint)};
}

// Closes its file when destroyed. A full disk may be detected only then.
class WrittenFile {
 public:
  WrittenFile(const fs::path& path, int flags)
      : file_(::open(path.c_str(), flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), error_(file_ < 0 ? errno : 0) {}
  ~WrittenFile() { close(); }
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    if (error_ == 0 && !write_all(file_, bytes)) error_ = errno;
  }
  // errno of the first failure; 0: none.
  int close() {
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
    return error_;
  }

 private:
  int file_;
  int error_;
};

Result<void> write_in_place(const fs::path& path, const Pieces& pieces, int flags) {
  WrittenFile file(path, flags);
  for (const std::span<const std::byte> bytes : pieces) file.write(bytes);
  if (const int error = file.close(); error != 0) return write_error(path, error);
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const fs::path& path, std::size_t limit_bytes) {
  return read_whole<std::vector<std::byte>>(path, limit_bytes);
}

Result<std::vector<std::byte>> read_file(const fs::path& path, std::size_t limit_bytes, const ExpectedFile& expected) {
  return read_whole<std::vector<std::byte>>(path, limit_bytes, expected);
}

Result<std::string> read_text_file(const fs::path& path, std::size_t limit_bytes) {
  const auto is_text = [](std::span<const std::byte> so_far) {
    return std::ranges::find(so_far, std::byte{0}) == so_far.end();
  };
  return read_whole<std::string>(path, limit_bytes, {"a text", is_text});
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = ENOSPC;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

Result<void> write_file(const fs::path& path, std::span<const std::byte> bytes) {
  return write_file(path, Pieces{bytes});
}

Result<void> write_file(const fs::path& path, const Pieces& pieces) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return write_refusal(path, "the path is a directory", "name a file in the directory");
  // Devices and pipes cannot be replaced by renaming.
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_in_place(path, pieces, O_TRUNC);

  // A symbolic link stays; its destination is replaced.
  const fs::path target = fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : path;
  if (target.empty()) return write_refusal(path, "the path is empty or a broken link", "name a file");
  if (target.has_parent_path()) {
    fs::create_directories(target.parent_path(), error);
    if (error)
      return Diagnostic{"cannot write file", path.string(),
                        fmt::format("cannot create its folder: {}", error.message()), "check the path",
                        cause_of(error.value())};
  }
  fs::path temporary = target;
  temporary += fmt::format(".{}.tmp", ::getpid());
  const TemporaryPath file(temporary);
  DOVETAIL_TRY(write_in_place(temporary, pieces, O_TRUNC));
  fs::rename(temporary, target, error);
  if (error) return write_error(path, error.value());
  return {};
}

Result<void> write_text_file(const fs::path& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

Result<void> append_text_file(const fs::path& path, std::string_view text) {
  return write_in_place(path, {std::as_bytes(std::span(text.data(), text.size()))}, O_APPEND);
}

}  // namespace dovetail
