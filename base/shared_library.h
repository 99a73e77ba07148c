// Code that is loaded at run time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace dovetail {

// A shared object, loaded as long as this lives. Whoever loads one trusts it: it may run code at once.
class SharedLibrary {
 public:
  // Errors: what the loader says.
  static Result<SharedLibrary> open(const std::filesystem::path& path);
  // From memory: nothing is left on disk, and no folder need be writable.
  static Result<SharedLibrary> load(std::span<const std::byte> bytes, const std::string& name);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  ~SharedLibrary();

  // nullptr: it has no such symbol.
  void* find(const std::string& symbol) const;
  // The words of a constant, as many as its symbol has; none where there is no such constant.
  std::span<const std::uint64_t> words(const std::string& symbol) const;
  // From here on it stays loaded until the process ends.
  void keep() { handle_ = nullptr; }

 private:
  SharedLibrary(void* handle, int file) : handle_(handle), file_(file) {}

  void* handle_;
  int file_;  // -1, or that of `load`, open as long as the object is there: the loader knows objects by path, and the
              // path holds this number
};

}  // namespace dovetail
