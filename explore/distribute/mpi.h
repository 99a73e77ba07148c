// The transport of `mpirun`. It is a separate shared object, so that nothing else needs MPI: it is built if an MPI
// library is installed, and loaded when a launcher started several processes of a command.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "explore/distribute/transport.h"

namespace dovetail::explore {

// The number of processes that a launcher (mpirun, srun) started; 1 without a launcher.
int launched_processes();

// The shared object in lib/dovetail of the kit (base/kit_folder.h).
std::optional<std::filesystem::path> find_mpi();
// Why the shared object is missing, and the command that installs it.
Diagnostic no_mpi();

// The MPI library of the shared object: "Open MPI v4.1.4". Errors: no_mpi(); it cannot be loaded.
Result<std::string> mpi_library();

// Joins the other processes, of a launcher or of a queue's boards (inherited.h); null if there are none. Call it once
// in a process. Errors: the shared object is missing, cannot be loaded, or was built for another MPI library than that
// of the launcher (each process is then alone).
Result<std::unique_ptr<Transport>> join_processes();

}  // namespace dovetail::explore
