// Where two traces of one program part.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "simulator/trace/trace.h"

namespace dovetail::simulator {

struct TraceDifference {
  std::size_t launch = 0;
  std::optional<std::size_t> event;  // within the launch; empty: the launches' numbers differ, events do not
  std::string what;                  // "start 120, not 118"; more than one, separated by "; "
};

// Of all instructions that differ, the one that does so first in time: its causes lie in what is equal. `source` and
// `cause` do not count while all cycles are equal; waits for memory and counters, where both traces know them. Empty:
// the traces are equal.
std::optional<TraceDifference> first_difference(const Trace& a, const Trace& b);

// The instruction with `around` others of each unit that end around its time, in one trace. Precondition:
// difference.event lies within the launch.
std::string neighbourhood(const Trace& trace, const TraceDifference& difference, std::size_t around);

}  // namespace dovetail::simulator
