#include "simulator/systemc_engine.h"

#include <array>
#include <system_error>

#include "base/shared_library.h"
#include "base/user_folder.h"

namespace dovetail::simulator {

namespace {

constexpr const char* kFile = "libdovetail_systemc_engine.so";
constexpr const char* kFunction = "dovetail_make_systemc";

}  // namespace

std::optional<std::filesystem::path> find_systemc_engine() {
  std::error_code ignored;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path installed = executable.parent_path().parent_path() / "lib" / "dovetail" / kFile;
  if (std::filesystem::exists(installed, ignored)) return installed;
  // The folder of the build may be gone, and be somebody else's by now.
  const std::filesystem::path folder = DOVETAIL_MODULE_FOLDER, built = folder / kFile;
  const bool is_ours = !other_hands(folder) && !other_hands(built);
  return std::filesystem::exists(built, ignored) && is_ours ? std::optional(built) : std::nullopt;
}

Result<std::unique_ptr<Simulator>> make_systemc(const isa::HardwareConfig& config, const EngineOptions& options) {
  const auto path = find_systemc_engine();
  if (!path)
    return Diagnostic{"cannot load engine systemc", kFile, "it is not here: this build found no SystemC",
                      "install libsystemc-dev and pkg-config, and build again"};
  auto library = SharedLibrary::open(*path);
  void* const function = library.ok() ? library->find(kFunction) : nullptr;
  if (function == nullptr)
    return Diagnostic{"cannot load engine systemc", path->string(),
                      library.ok() ? "it does not have what it should" : library.errors().front().why, "build it again",
                      library.ok() ? Cause::input : cause_of(library.errors())};
  library->keep();  // simulators that it makes may be anywhere
  using Make = Simulator* (*)(const isa::HardwareConfig*, const EngineOptions*);
  return std::unique_ptr<Simulator>(reinterpret_cast<Make>(function)(&config, &options));
}

}  // namespace dovetail::simulator
