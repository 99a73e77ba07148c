#include "explore/distribute/mpi.h"

#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/kit_folder.h"
#include "base/shared_library.h"
#include "base/user_folder.h"
#include "explore/distribute/inherited.h"

namespace dovetail::explore {

namespace {

constexpr const char* kFile = "libdovetail_mpi.so";
constexpr const char* kFunction = "dovetail_join_mpi";
// Set by Open MPI's mpirun, and by launchers that speak PMI (MPICH's, SLURM's).
constexpr const char* kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

}  // namespace

int launched_processes() {
  for (const char* name : kSizes)
    if (const char* text = std::getenv(name))
      if (const int size = std::atoi(text); size > 1) return size;
  return 1;
}

std::optional<std::filesystem::path> find_mpi() {
  const std::filesystem::path folder = kit_prefix() / "lib" / "dovetail", file = folder / kFile;
  std::error_code ignored;
  // Not loaded if another user may have written it: a kit's former folder may belong to someone else now.
  if (!std::filesystem::exists(file, ignored) || other_hands(folder) || other_hands(file)) return std::nullopt;
  return file;
}

Diagnostic no_mpi() {
  Diagnostic problem{"cannot work in several processes", kFile, "", ""};
  if (DOVETAIL_MPI_FOUND) {
    problem.why = fmt::format("{} has none", (kit_prefix() / "lib" / "dovetail").string());
    problem.hint = kit_is_a_build() ? "`./dev build` builds it" : kKitHint;
  } else {
    problem.why = "this kit was built without an MPI library";
    problem.hint = kit_is_a_build()
                       ? "`./dev deps` installs libopenmpi-dev and openmpi-bin, `./dev build` then builds it"
                       : "in the kit's sources: `./dev deps`, which installs libopenmpi-dev and "
                         "openmpi-bin, then `./dev install` or `./dev package`";
  }
  return problem;
}

namespace {

// A function of the shared object, which is never unloaded, since MPI leaves exit handlers and threads.
Result<void*> function_of_mpi(const char* name) {
  const auto path = find_mpi();
  if (!path) return no_mpi();
  auto library = SharedLibrary::open(*path);
  void* const function = library.ok() ? library->find(name) : nullptr;
  if (function == nullptr)
    return Diagnostic{
        "cannot work in several processes", path->string(),
        library.ok() ? fmt::format("the library has no function {}", name) : library.errors().front().why,
        library.ok() ? "build the kit's library again" : "`sudo apt-get install openmpi-bin` installs the library",
        library.ok() ? Cause::input : cause_of(library.errors())};
  library->keep();
  return function;
}

}  // namespace

Result<std::string> mpi_library() {
  DOVETAIL_ASSIGN(void* const function, function_of_mpi("dovetail_mpi_library"));
  std::string text;
  reinterpret_cast<void (*)(std::string*)>(function)(&text);
  return text;
}

Result<std::unique_ptr<Transport>> join_processes() {
  DOVETAIL_ASSIGN(auto of_a_board, inherited_transport());
  if (of_a_board) return of_a_board;
  const int launched = launched_processes();
  if (launched == 1) return std::unique_ptr<Transport>();
  DOVETAIL_ASSIGN(void* const function, function_of_mpi(kFunction));
  std::unique_ptr<Transport> transport(reinterpret_cast<Transport* (*)()>(function)());
  if (transport->size() != launched)
    return Diagnostic{
        "cannot work in several processes", transport->library(),
        fmt::format("the launcher started {} processes, but this library reports {}", launched, transport->size()),
        "use the mpirun of the library that the kit was built with (`dovetail doctor` names it)"};
  return transport;
}

}  // namespace dovetail::explore
