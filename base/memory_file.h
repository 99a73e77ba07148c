// A file in memory without a name, for libraries that accept only files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail {

class MemoryFile {
 public:
  // `name` appears in listings of the process's files. Error: the system has no memory for it.
  static Result<MemoryFile> make(const std::string& name);

  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  Result<void> write(std::span<const std::byte> bytes);  // appends
  Result<std::vector<std::byte>> read() const;           // all of it
  std::string path() const;                              // the path by which this process opens it
  int file() const { return file_; }
  int release();  // the caller closes it

 private:
  explicit MemoryFile(int file) : file_(file) {}
  int file_;  // -1: moved away
};

}  // namespace dovetail
