#include "base/shared_library.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include "base/machine_code_permission.h"
#include "base/memory_file.h"

namespace dovetail {

namespace {

// Returns nullptr and stores the loader's message on failure.
void* load_object(const std::string& path, Diagnostic& problem) {
  errno = 0;
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  Cause cause = cause_of(errno);
  const char* const reason = ::dlerror();
  const std::string why = reason != nullptr ? reason : "the loader gives no reason";
  // The loader's own calls may have changed errno since.
  for (const int error : {EMFILE, ENFILE, ENOMEM})
    if (why.ends_with(std::strerror(error))) cause = Cause::resource;
  problem = {"cannot load the shared object", path, why,
             cause == Cause::resource ? "close sessions and files, or raise the limits (`ulimit -a`)"
                                      : "build the shared object again",
             cause};
  return nullptr;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(const std::filesystem::path& path) {
  Diagnostic problem;
  void* const handle = load_object(path.string(), problem);
  if (handle == nullptr) return problem;
  return SharedLibrary(handle, -1);
}

Result<SharedLibrary> SharedLibrary::load(std::span<const std::byte> bytes, const std::string& name) {
  DOVETAIL_TRY(check_machine_code("cannot load the shared object", name));
  DOVETAIL_ASSIGN(MemoryFile file, MemoryFile::make(name));
  DOVETAIL_TRY(file.write(bytes));
  Diagnostic problem;
  void* const handle = load_object(file.path(), problem);
  if (handle == nullptr) return problem;
  return SharedLibrary(handle, file.release());
}

SharedLibrary::SharedLibrary(SharedLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), file_(std::exchange(other.file_, -1)) {}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
  if (file_ >= 0) ::close(file_);
}

void* SharedLibrary::find(const std::string& symbol) const { return ::dlsym(handle_, symbol.c_str()); }

std::span<const std::uint64_t> SharedLibrary::words(const std::string& symbol) const {
  void* const address = find(symbol);
  Dl_info info;
  ElfW(Sym)* entry = nullptr;
  if (address == nullptr || ::dladdr1(address, &info, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) == 0) return {};
  if (entry == nullptr || info.dli_saddr != address || ELF64_ST_TYPE(entry->st_info) != STT_OBJECT) return {};
  return {static_cast<const std::uint64_t*>(address), entry->st_size / sizeof(std::uint64_t)};
}

}  // namespace dovetail
