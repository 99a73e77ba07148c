// Calls into code that exceptions must not pass: libraries compiled without them, LLVM above all, and code that leaves
// its objects half made, so that their destructors or the next call crash or hang: Verilated models, SystemC's kernel,
// nlohmann::json. If memory runs out there, the process ends at once.
#pragma once

#include <string_view>

namespace dovetail {

inline constexpr std::string_view kOutOfMemory =
    "error: out of memory: the request needs more than is available. Hint: check the sizes in its files, or run it "
    "on a machine with more\n";

// The scope of such a call: in this thread, a failed heap allocation ends the process instead of throwing
// std::bad_alloc.
class NoUnwinding {
 public:
  NoUnwinding();
  ~NoUnwinding();
  NoUnwinding(const NoUnwinding&) = delete;
  NoUnwinding& operator=(const NoUnwinding&) = delete;
};

// Prints kOutOfMemory on stderr, removes the temporary files (base/vanishing.h), and ends the process with exit code 1.
[[noreturn]] void end_out_of_memory();

// For a shared object with its own copy of this file: its end_out_of_memory() then calls the loading program's, which
// knows the temporary files that exist.
void end_out_of_memory_by(void (*loader)());

}  // namespace dovetail
