// Runs a function in a child process, a copy of this one, in which it may crash, hang, or overwrite memory. The caller
// learns how it ended.
//
// The copy has one thread; the other threads of this process stop in the middle of their work. So the function must not
// need anything that they may have locked: locks of libraries (LLVM), static variables that are not initialized yet. It
// may allocate heap memory and start threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/work.h"

namespace dovetail::explore {

struct ChildLimits {
  double seconds = 60;                             // wall-clock time
  std::optional<std::uint64_t> memory_bytes = {};  // in addition to what this process has
  const Work* work = nullptr;                      // the child stops when this work is stopped
  // False: other processes cannot inspect the child, and the system's crash collector does not see its crash. Set it
  // for a child that uses a GPU: the driver may need to inspect its process.
  bool open_to_others = false;
};

enum class ChildEnding : std::uint8_t {
  returned,
  threw,      // the answer is what() of the exception
  exited,     // it ended without an answer; `number` is its status
  crashed,    // a signal ended it; `number` says which
  timed_out,  // it was killed at its limit
  stopped,    // it was killed because the work was stopped
};

struct ChildEnd {
  ChildEnding ending = ChildEnding::exited;
  std::vector<std::byte> answer = {};
  int number = 0;
};
// "it returned", "signal 11 ended it: Segmentation fault", "it ran for more than 60 s", ...
std::string to_string(const ChildEnd& end, const ChildLimits& limits);

// Runs `function` in a child process and returns its result. The child has its own process group, which is killed when
// the function has ended in any way, and when this process ends. Ctrl-C reaches only this process. The child's output
// is lost, and files that are open in this process are closed in the child. Several threads may call it at once; a
// child ends with the thread that called. Error: the system cannot start a process.
Result<ChildEnd> call_in_child(const std::function<std::vector<std::byte>()>& function, const ChildLimits& limits = {});

}  // namespace dovetail::explore
