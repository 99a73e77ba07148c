// Landlock: the rules of the kernel by which a process confines itself and all that it starts to some files, and to no
// network (https://docs.kernel.org/userspace-api/landlock.html).
//
// The kernel's interface grows by versions of its ABI, of which a kernel knows those up to its own. The constants are
// written here, since the headers of the machine that builds the kit may be older than the kernel that runs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace dovetail::remote {

// What the rules cover from an ABI on. Before it, they are silent, and something else must protect.
inline constexpr int kLandlockTruncates = 3;  // truncate(2) (Linux 6.2)
inline constexpr int kLandlockTcp = 4;        // bind and connect of TCP (6.7)
inline constexpr int kLandlockSignals = 6;    // signals to processes outside (6.12)

// The ABI of this kernel; 0: it has no Landlock, and errno says why.
int landlock_abi();

// What may be done with a file, or with everything in a folder.
enum class FileAccess : std::uint8_t {
  read,                // files and folders are read
  execute,             // programs and shared objects are also executed
  use,                 // a device: read, written and controlled
  change,              // everything but symbolic links and special files; nothing is executed
  change_and_execute,  // with symbolic links, which building a model of the design needs
};
struct FileRule {
  std::filesystem::path path;
  FileAccess access = FileAccess::read;
};

// A set of rules, for a process to apply to itself. A path that does not exist is left out. Error: the kernel refuses.
Result<Descriptor> make_landlock_rules(const std::vector<FileRule>& rules, int abi);

// Safe between fork and exec. False: errno holds the reason.
bool add_landlock_reading(int rules, const char* path) noexcept;
bool apply_landlock(int rules) noexcept;

}  // namespace dovetail::remote
