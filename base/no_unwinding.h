// Calls into libraries that were compiled without exceptions, LLVM above all. One that passes through them leaves their
// locks held and their objects half changed, so that the next call hangs or crashes. Where memory runs out there, the
// process ends at once.
#pragma once

#include <string_view>

namespace dovetail {

inline constexpr std::string_view kOutOfMemory =
    "error: out of memory: what was asked for needs more than there is. Hint: check the sizes in its files, or run it "
    "where there is more\n";

// The scope of such a call: in this thread, a heap that has no more memory ends the process instead of throwing
// std::bad_alloc.
class NoUnwinding {
 public:
  NoUnwinding();
  ~NoUnwinding();
  NoUnwinding(const NoUnwinding&) = delete;
  NoUnwinding& operator=(const NoUnwinding&) = delete;
};

// Says kOutOfMemory on stderr, removes what vanishes (base/vanishing.h), and ends the process with exit code 1.
[[noreturn]] void end_out_of_memory();

}  // namespace dovetail
