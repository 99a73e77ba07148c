// Conditions at which a program stops, as given to `break` of `dovetail debug` and `simulate --until`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/program/program_input.h"
#include "simulator/debug/touched.h"

namespace dovetail::cli {

// Whether the program must stop before the instruction with this index.
using StopsBefore = std::function<bool(std::size_t instruction)>;
// The elements and bytes that an instruction accesses, if it runs next.
using TouchedBy = std::function<simulator::Touched(std::size_t instruction)>;

// `words`: "#12", an instruction; ":20", a line of the text; a label; "acc[0..7]"; "x", "x+64" or "dram" "0x2000:64",
// bytes of memory; "token" "load->compute". Error: the program has no such instruction, label or address; `option` is
// the option that the words belong to. Preconditions: there is at least one word; `input` outlives the result.
Result<StopsBefore> parse_break_place(std::string_view option, const std::vector<std::string>& words,
                                      const ProgramInput& input, TouchedBy touched);

}  // namespace dovetail::cli
