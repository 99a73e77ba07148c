// Attributes a unit's cycles to groups of instructions (layers, programs), from a trace's events.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// Cycles of one unit. An instruction gets the cycles from its predecessor's end to its own end; those before its start
// are waits, and are attributed to the cause that ended last.
struct UnitTime {
  std::uint64_t busy = 0;
  std::array<std::uint64_t, kStallCauseNames.size()> waiting{};  // by StallCause
  std::uint64_t total() const;
  UnitTime& operator+=(const UnitTime& other);
  bool operator==(const UnitTime&) const = default;
};

// The result is indexed by group (a number below `groups`), then by unit; one more row at the end has the cycles after
// a unit's last instruction, as busy 0 and waiting for `fetch`. Over all rows a unit's cycles sum to those of the
// launches. Precondition: the launches have events.
using EventGroup = std::function<std::size_t(const TraceEvent& event)>;
std::vector<std::array<UnitTime, 3>> attribute(const Trace& trace, std::size_t groups, const EventGroup& group_of);
// By source, numbered as in Trace::sources, then by unit.
std::vector<std::array<UnitTime, 3>> attribute(const Trace& trace);

}  // namespace dovetail::simulator
