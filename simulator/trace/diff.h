// The first difference between two traces of one program.
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

// Of all instructions that differ, the first one in time: all earlier events are equal. `source` and `cause` are
// compared only if a cycle differs; waits for memory and counters only if both traces have them. Empty: the traces are
// equal.
std::optional<TraceDifference> first_difference(const Trace& a, const Trace& b);

// The first instruction, in program order, whose fields differ from those of the other trace: addresses on chip and in
// DRAM, sizes, loops, flags. Such traces may have the same cycles. Preconditions: the programs are those of the traces
// (traced_programs_from_json); launches and events beyond the shorter trace are reported by first_difference().
std::optional<TraceDifference> first_other_instruction(const Trace& a, const std::vector<TracedProgram>& programs_of_a,
                                                       const Trace& b, const std::vector<TracedProgram>& programs_of_b);

// A text with the instruction, and `around` others of each unit that end at about the same time, in one trace.
// Precondition: difference.event is within the launch.
std::string neighborhood(const Trace& trace, const TraceDifference& difference, std::size_t around);

}  // namespace dovetail::simulator
