// Where two traces of one program part.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "simulator/trace/profile.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

struct TraceDifference {
  std::size_t launch = 0;
  std::optional<std::size_t> event;  // within the launch; empty: the launches' numbers differ, events do not
  std::string what;                  // "start 120, not 118"; more than one, separated by "; "
};

// Of all instructions that differ, the one that does so first in time: its causes are in what is equal. `source` and
// `cause` do not count while all cycles are equal; waits for memory and counters, where both traces know them. Empty:
// the traces are equal.
std::optional<TraceDifference> first_difference(const Trace& a, const Trace& b);

// The first instruction, in program order, whose fields are not those of the other trace: places on chip and in DRAM,
// sizes, loops, flags. Such traces may agree to the cycle. Preconditions: the programs are those of the traces
// (traced_programs_from_json); launches and events beyond the shorter trace are first_difference()'s.
std::optional<TraceDifference> first_other_instruction(const Trace& a, const std::vector<TracedProgram>& programs_of_a,
                                                       const Trace& b, const std::vector<TracedProgram>& programs_of_b);

// The instruction with `around` others of each unit that end around its time, in one trace. Precondition:
// difference.event is within the launch.
std::string neighborhood(const Trace& trace, const TraceDifference& difference, std::size_t around);

}  // namespace dovetail::simulator
