#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "base/memory_limit.h"

namespace dovetail {

namespace {

namespace fs = std::filesystem;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

Diagnostic read_error(const fs::path& path, std::string why, std::string hint) {
  return {"cannot read file", path.string(), std::move(why), std::move(hint)};
}

// Sizes from the file system are not trusted: the file may grow, or be a pipe. But what is too large already is not
// read.
template <typename Container>
Result<Container> read_whole(const fs::path& path, std::size_t limit_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return read_error(path, "no such file", "check the path; it is relative to the current folder");
  if (fs::is_directory(status)) return read_error(path, "it is a directory", "name a file in it");
  errno = 0;
  const FilePointer file(std::fopen(path.c_str(), "rb"));
  if (!file) return read_error(path, std::strerror(errno), "check the permissions");

  const auto too_large = [&](const std::string& size) {
    return read_error(path, fmt::format("{} bytes > limit {} bytes", size, limit_bytes), "is it the right file?");
  };
  std::size_t expected = 0;
  if (fs::is_regular_file(status)) {
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error && size > limit_bytes) return too_large(fmt::format("{}", size));
    if (!error) DOVETAIL_TRY(check_memory("cannot read file", path.string(), size));
    if (!error) expected = static_cast<std::size_t>(size);
  }
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16;
  Container content;
  std::size_t filled = 0;
  for (;;) {
    // One byte more than expected, so that the end is seen without another chunk.
    const std::size_t wanted = filled < expected + 1 ? expected + 1 - filled : kChunkBytes;
    content.resize(filled + wanted);
    const std::size_t got = std::fread(content.data() + filled, 1, wanted, file.get());
    filled += got;
    if (filled > limit_bytes) return too_large(fmt::format("at least {}", filled));
    if (got < wanted) break;
  }
  if (std::ferror(file.get())) return read_error(path, std::strerror(errno), "check the medium");
  content.resize(filled);
  return content;
}

Diagnostic write_error(const fs::path& path, std::string why, std::string hint) {
  return {"cannot write file", path.string(), std::move(why), std::move(hint)};
}

Result<void> write_in_place(const fs::path& path, std::span<const std::byte> bytes) {
  errno = 0;
  FilePointer file(std::fopen(path.c_str(), "wb"));
  if (!file) return write_error(path, std::strerror(errno), "check the folder's permissions");
  const bool written = bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  const bool closed = std::fclose(file.release()) == 0;  // flushes: a full disk may show only here
  if (!written || !closed) return write_error(path, std::strerror(errno), "is the disk full?");
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const fs::path& path, std::size_t limit_bytes) {
  return read_whole<std::vector<std::byte>>(path, limit_bytes);
}

Result<std::string> read_text_file(const fs::path& path, std::size_t limit_bytes) {
  return read_whole<std::string>(path, limit_bytes);
}

Result<void> write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return write_error(path, "it is a directory", "name a file in it");
  // Devices and pipes cannot be replaced by renaming.
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_in_place(path, bytes);

  // A symbolic link stays; what it points to is replaced.
  const fs::path target = fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : path;
  if (target.empty()) return write_error(path, "the path is empty or a broken link", "name a file");
  if (target.has_parent_path()) {
    fs::create_directories(target.parent_path(), error);
    if (error) return write_error(path, fmt::format("cannot create its folder: {}", error.message()), "check the path");
  }
  fs::path temporary = target;
  temporary += fmt::format(".{}.tmp", ::getpid());
  Result<void> written = write_in_place(temporary, bytes);
  if (written.ok()) {
    fs::rename(temporary, target, error);
    if (error) written = write_error(path, error.message(), "check the folder's permissions");
  }
  if (!written.ok()) fs::remove(temporary, error);
  return written;
}

Result<void> write_text_file(const fs::path& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace dovetail
