// The transport of `mpirun`. It is its own shared object, so that nothing else needs MPI: built where an MPI
// library is installed, and loaded when a command finds itself among several processes that a launcher has started.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "explore/distribute/transport.h"

namespace dovetail::explore {

// How many processes a launcher (mpirun, srun) says that it started; 1 without one.
int launched_processes();

// In lib/dovetail of the kit (base/kit_folder.h).
std::optional<std::filesystem::path> find_mpi();
// Why there is none, and which command brings it.
Diagnostic no_mpi();

// What the shared object passes messages with: "Open MPI v4.1.4". Errors: no_mpi(); it cannot be loaded.
Result<std::string> mpi_library();

// Joins the other processes; null where there are none. Once in a process. Errors: the shared object is missing, cannot
// be loaded, or was built for another MPI library than that of the launcher, which then has as many processes by
// themselves as it started.
Result<std::unique_ptr<Transport>> join_processes();

}  // namespace dovetail::explore
