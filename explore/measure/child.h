// A function in its own process, a copy of this one, which may crash, hang, or break its copy of the memory: the
// caller learns how it ended.
//
// The copy has one thread, whatever the others were doing when it was made. So the function must not need what they may
// have held: locks of libraries (LLVM), static variables that nobody has used yet. Memory of the heap and new threads
// it may have.
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
  stopped,    // it was killed because the work is to stop
};

struct ChildEnd {
  ChildEnding ending = ChildEnding::exited;
  std::vector<std::byte> answer = {};
  int number = 0;
};
// "returned", "a signal ended it: Segmentation fault", ...
std::string to_string(const ChildEnd& end, const ChildLimits& limits);

// Runs `function` in a child process and returns what that returned. The child has its own process group, which
// is killed when the function has ended, one way or another, and when this process ends. Ctrl-C reaches this process
// alone. What the child prints is lost; files that were open here are closed there. Any thread may call, several at a
// time; the child ends with the thread that called. Error: the system gives no process.
Result<ChildEnd> call_in_child(const std::function<std::vector<std::byte>()>& function, const ChildLimits& limits = {});

}  // namespace dovetail::explore
