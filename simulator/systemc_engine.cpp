#include "simulator/systemc_engine.h"

#include <system_error>

#include <fmt/format.h>

#include "base/kit_folder.h"
#include "base/shared_library.h"
#include "base/user_folder.h"
#include "simulator/soc/system.h"

namespace dovetail::simulator {

namespace {

constexpr const char* kFile = "libdovetail_systemc_engine.so";
constexpr const char* kFunction = "dovetail_make_systemc";
constexpr const char* kRunSystem = "dovetail_run_soc";

// The function of that name in the library, which stays loaded.
Result<void*> function_of(const char* name) {
  const auto path = find_systemc_engine();
  if (!path) return no_systemc_engine();
  auto library = SharedLibrary::open(*path);
  void* const function = library.ok() ? library->find(name) : nullptr;
  if (function == nullptr)
    return Diagnostic{
        "cannot load engine systemc", path->string(),
        library.ok() ? "expected symbols are missing from the library" : library.errors().front().why,
        library.ok() ? "build the library again" : "`sudo apt-get install libsystemc` installs the library of SystemC",
        library.ok() ? Cause::input : cause_of(library.errors())};
  library->keep();  // its simulators may still be in use anywhere
  return function;
}

}  // namespace

std::optional<std::filesystem::path> find_systemc_engine() {
  const std::filesystem::path folder = kit_prefix() / "lib" / "dovetail", file = folder / kFile;
  std::error_code ignored;
  // Not loaded if another user may have written it: a kit's former folder may belong to someone else now.
  if (!std::filesystem::exists(file, ignored) || other_hands(folder) || other_hands(file)) return std::nullopt;
  return file;
}

Diagnostic no_systemc_engine() {
  Diagnostic problem{"cannot load engine systemc", kFile, "", ""};
  if (DOVETAIL_SYSTEMC_FOUND) {
    problem.why = fmt::format("{} does not contain the engine", (kit_prefix() / "lib" / "dovetail").string());
    problem.hint = kit_is_a_build() ? "`./dev build` makes it" : kKitHint;
  } else {
    problem.why = "this kit was built on a machine without SystemC";
    problem.hint = kit_is_a_build()
                       ? "`./dev deps` installs libsystemc-dev and pkgconf, `./dev build` then makes the engine"
                       : "in the kit's sources: `./dev deps`, which installs libsystemc-dev and pkgconf, then "
                         "`./dev install` or `./dev package`";
  }
  return problem;
}

Result<std::unique_ptr<Simulator>> make_systemc(const isa::HardwareConfig& config, const EngineOptions& options) {
  DOVETAIL_ASSIGN(void* const function, function_of(kFunction));
  using Make = Simulator* (*)(const isa::HardwareConfig*, const EngineOptions*);
  return std::unique_ptr<Simulator>(reinterpret_cast<Make>(function)(&config, &options));
}

Result<soc::SystemRun> soc::run_systemc(std::span<const std::byte> firmware, const SystemOptions& options) {
  DOVETAIL_ASSIGN(void* const function, function_of(kRunSystem));
  using Run = Result<SystemRun>* (*)(const std::span<const std::byte>*, const SystemOptions*);
  return *std::unique_ptr<Result<SystemRun>>(reinterpret_cast<Run>(function)(&firmware, &options));
}

}  // namespace dovetail::simulator
