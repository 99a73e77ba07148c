// Calls into what exceptions must not pass: libraries compiled without them, LLVM above all, and code that leaves its
// objects half made, so that their destructors or the next call crash or hang: Verilated models, SystemC's kernel,
// nlohmann::json. Where memory runs out there, the process ends at once.
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

// For a shared object with a copy of this file: end_out_of_memory() there becomes that of who loaded it, whose
// vanishing files it does not know.
void end_out_of_memory_by(void (*loader)());

}  // namespace dovetail
