// Code that is loaded at run time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace dovetail {

// A shared object, loaded for the lifetime of this object. The caller must trust its contents: it may run code at once.
class SharedLibrary {
 public:
  // Errors: the loader's message.
  static Result<SharedLibrary> open(const std::filesystem::path& path);
  // Loads from memory: nothing is left on disk, and no writable folder is needed. Error: this process may not execute
  // machine code (base/machine_code_permission.h).
  static Result<SharedLibrary> load(std::span<const std::byte> bytes, const std::string& name);

  SharedLibrary(SharedLibrary&& other) noexcept;
  SharedLibrary& operator=(SharedLibrary&&) = delete;
  ~SharedLibrary();

  // nullptr: no such symbol.
  void* find(const std::string& symbol) const;
  // The words of a constant array, as many as its symbol has; empty if there is no such constant.
  std::span<const std::uint64_t> words(const std::string& symbol) const;
  // Keeps the object loaded until the process ends.
  void keep() { handle_ = nullptr; }

 private:
  SharedLibrary(void* handle, int file) : handle_(handle), file_(file) {}

  void* handle_;
  int file_;  // -1, or the file of `load`, open as long as this object exists: the loader identifies objects by path,
              // and the path contains this number
};

}  // namespace dovetail
