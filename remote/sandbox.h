// Runs a command of a client on this board, confined by the kernel: it reads the kit, the system's libraries and what
// the order names, writes only into its folder, reaches no network and no other process, and ends with all that it has
// started. docs/howto/queue.md says what remains possible.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"

namespace dovetail::remote {

// What the kernel of this machine offers.
struct SandboxFacts {
  int landlock_abi = 0;  // 0: no Landlock, the kernel's rules for files
  bool seccomp = false;  // the kernel's filter of system calls
  bool root = false;     // this user is root
};
SandboxFacts sandbox_facts();

// What is not confined with these facts, for the user who starts a board; empty: nothing.
std::vector<std::string> sandbox_gaps(const SandboxFacts& facts);

// Error: machine code of others cannot be confined here. A board then refuses orders that may execute it.
Result<void> check_sandbox(const SandboxFacts& facts = sandbox_facts());

struct SandboxLimits {
  double seconds = 3600;     // wall-clock time
  double grace_seconds = 0;  // after it the program gets SIGINT, and this time to end in its own way
  // Address space of each process; with devices, whose drivers reserve address space that they never use, only its
  // private writable memory. nullopt: no limit (AddressSanitizer reserves terabytes).
  std::optional<std::uint64_t> memory_bytes = {};
  std::uint64_t file_bytes = std::uint64_t{1} << 32;  // of each file
};

inline constexpr int kFirstInherited = 64;

struct SandboxOrder {
  std::vector<std::string> command;  // the program's absolute path, and its arguments
  std::filesystem::path folder;      // absolute; the command's working folder, HOME and TMPDIR
  // In addition to PATH, HOME, TMPDIR, LANG and DOVETAIL_PREFIX (this kit), which it may replace.
  std::map<std::string, std::string> environment = {};
  std::vector<std::filesystem::path> readable = {};  // files and folders; also executed, as shared objects are
  std::vector<std::filesystem::path> devices = {};   // of a GPU, for example /dev/nvidia0
  // Open files of this process that the command gets, at the same numbers of at least kFirstInherited: a device whose
  // path it may not open.
  std::vector<int> inherited = {};
  // Whether the command may execute machine code of its client. False sets DOVETAIL_MACHINE_CODE=forbidden, unless
  // `environment` says more. True is an
  // error where check_sandbox() is one.
  bool machine_code = false;
  SandboxLimits limits = {};
};

enum class ProcessEnding : std::uint8_t {
  exited,     // `number` is its status
  crashed,    // a signal ended it; `number` says which
  timed_out,  // it was killed at its limit
  killed,     // by kill()
  lost,       // what supervised it was killed: the machine ran out of memory, or its user did it
};
struct ProcessEnd {
  ProcessEnding ending = ProcessEnding::lost;
  int number = 0;

  bool operator==(const ProcessEnd&) const = default;
};
// "it ended with status 2", "signal 11 ended it: Segmentation fault", ...
std::string to_string(const ProcessEnd& end);

// The environment variable that gives the command the number of its end of the socket `messages`.
inline constexpr const char* kMessagesVariable = "DOVETAIL_MESSAGES";

// A command in its sandbox. A process between this one and the command waits for it; when the command has ended, or its
// time has passed, or this process has ended in any way, it kills and reaps all processes that the command has started.
//
// Several threads may start commands at once. The destructor kills the command and waits for its end.
class SandboxedProcess {
 public:
  // Errors: the order's folder or program is missing; the machine has no processes or memory left; machine code that
  // cannot be confined. Takes some milliseconds.
  static Result<SandboxedProcess> start(const SandboxOrder& order);

  ~SandboxedProcess();
  SandboxedProcess(SandboxedProcess&&) noexcept = default;
  SandboxedProcess& operator=(SandboxedProcess&&) = delete;

  // Ends of pipes, and of a stream socket; non-blocking, closed in started programs. A caller may take them
  // (Descriptor::release).
  Descriptor input, output, errors, messages;

  // A descriptor that is readable when poll() has the end.
  int end_event() const { return control_.file(); }
  // nullopt: it is running. After its end none of its processes exists, and `output` and `errors` hold the rest.
  std::optional<ProcessEnd> poll();
  // Waits for the end. A command that writes more than its pipes hold needs a reader.
  ProcessEnd wait();
  // Ends the command soon; the end is then `killed`, unless it came first.
  void kill();
  // Sends SIGINT to the program, which may end in its own way.
  void interrupt();

 private:
  SandboxedProcess() = default;

  Descriptor control_;  // to the supervisor
  pid_t supervisor_ = 0;
  pid_t group_ = 0;  // of the command
  std::optional<ProcessEnd> end_ = {};
};

}  // namespace dovetail::remote
