#include "base/memory_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

namespace dovetail {

namespace {

Diagnostic no_memory(const char* what) {
  return {what, "", std::strerror(errno), "close other programs, or raise the limits (`ulimit -a`)", Cause::resource};
}

}  // namespace

Result<MemoryFile> MemoryFile::make(const std::string& name) {
  const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0) return no_memory("cannot make a file in memory");
  return MemoryFile(file);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
MemoryFile::~MemoryFile() {
  if (file_ >= 0) ::close(file_);
}

Result<void> MemoryFile::write(std::span<const std::byte> bytes) {
  if (!write_all(file_, bytes)) return no_memory("cannot write a file in memory");
  return {};
}

Result<std::vector<std::byte>> MemoryFile::read() const { return read_file(path()); }

std::string MemoryFile::path() const { return fmt::format("/proc/self/fd/{}", file_); }

int MemoryFile::release() { return std::exchange(file_, -1); }

}  // namespace dovetail
