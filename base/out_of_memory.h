// The end of a process whose memory has run out.
#pragma once

#include <string_view>

namespace dovetail {

inline constexpr std::string_view kOutOfMemory =
    "error: out of memory: what was asked for needs more than there is. Hint: check the sizes in its files, or run it "
    "where there is more\n";

// Says kOutOfMemory on stderr, removes temporary files (base/temporary.h), and ends the process with exit code 1.
// `dovetail` installs it as std::new_handler, and so should every program that embeds the kit: std::bad_alloc must not
// pass through LLVM, Verilated models, SystemC's kernel and nlohmann::json, which would crash or hang.
[[noreturn]] void end_out_of_memory();

}  // namespace dovetail
