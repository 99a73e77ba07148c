// How arrays, programs and counters are printed for people.
#pragma once

#include <string>

#include "base/ndarray.h"
#include "bundle/code/program_summary.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

std::string preview(const NdArray& array);  // the first elements, and "…" where there are more

// The lines "instructions", "micro-ops", "tokens" of a program, each ending with '\n'.
std::string program_text(const bundle::ProgramSummary& summary);
// What a run did: instructions, DRAM bytes, MACs, and events_text(); the same form.
std::string counters_text(const simulator::Counters& counters);
// Accesses of SRAM, beats and DRAM commands (docs/reference/events.md).
std::string events_text(const simulator::Counters& counters);

}  // namespace dovetail::cli
