#include "simulator/systemc_engine.h"

#include <dlfcn.h>

#include <array>
#include <system_error>

namespace dovetail::simulator {

namespace {

constexpr const char* kFile = "libdovetail_systemc_engine.so";
constexpr const char* kFunction = "dovetail_make_systemc";

}  // namespace

std::optional<std::filesystem::path> find_systemc_engine() {
  std::error_code ignored;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const std::filesystem::path& folder :
       {executable.parent_path().parent_path() / "lib" / "dovetail", std::filesystem::path(DOVETAIL_MODULE_FOLDER)})
    if (std::filesystem::exists(folder / kFile, ignored)) return folder / kFile;
  return std::nullopt;
}

Result<std::unique_ptr<Simulator>> make_systemc(const isa::HardwareConfig& config, const EngineOptions& options) {
  const auto path = find_systemc_engine();
  if (!path)
    return Diagnostic{"cannot load engine systemc", kFile, "it is not here: this build found no SystemC",
                      "install libsystemc-dev and pkg-config, and build again"};
  // Stays loaded: simulators that it made may be anywhere.
  void* object = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = object == nullptr ? nullptr : dlsym(object, kFunction);
  if (function == nullptr) {
    const char* why = dlerror();
    return Diagnostic{"cannot load engine systemc", path->string(),
                      why == nullptr ? "it does not have what it should" : why, "build it again"};
  }
  using Make = Simulator* (*)(const isa::HardwareConfig*, const EngineOptions*);
  return std::unique_ptr<Simulator>(reinterpret_cast<Make>(function)(&config, &options));
}

}  // namespace dovetail::simulator
