// What a timing engine tells of a launch: one event per instruction, and what each unit did in each cycle. One schema for all engines, so that
// two traces of one program can be compared event by event. docs/timing.md, sections 1 and 11, defines every number.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/instruction.h"

namespace dovetail::simulator {

// Why an instruction did not start in the cycle before it did.
enum class StallCause : std::uint8_t { none, fetch, unit, drain, token_prev, token_next };

// What a unit did in a cycle.
enum class UnitClass : std::uint8_t { work, interlock, memory, push, pipeline, token, fetch, hand_over };

inline constexpr std::array<std::string_view, 6> kStallCauseNames{"none", "fetch", "unit", "drain", "token_prev", "token_next"};
inline constexpr std::array<std::string_view, 8> kUnitClassNames{"work",     "interlock", "memory", "push",
                                                                 "pipeline", "token",     "fetch",  "hand_over"};

struct TraceEvent {
  std::uint64_t instruction = 0;  // in the program
  isa::Queue unit = isa::Queue::compute;
  std::uint64_t issue = 0, start = 0, end = 0;
  StallCause cause = StallCause::none;
  std::uint32_t source = 0;  // index into Trace::sources; 0: not told
  bool operator==(const TraceEvent&) const = default;
};

struct LaunchTrace {
  std::uint64_t cycles = 0;
  std::vector<TraceEvent> events;  // in program order; empty unless asked for
  std::array<std::array<std::uint64_t, kUnitClassNames.size()>, 3> classes{};  // cycles, by isa::Queue and UnitClass; each row sums to `cycles`
  bool operator==(const LaunchTrace&) const = default;
};

struct Trace {
  std::vector<LaunchTrace> launches;
  std::vector<std::string> sources{""};  // nodes of the model
  bool operator==(const Trace&) const = default;
};

// {"kind": "trace", "sources": [...], "launches": [{"cycles", "classes": {"load": {"work": n, ...}, ...}, "events": [[instruction, "load", issue, start,
// end, "none", source], ...]}]}
Json to_json(const Trace& trace);
// Errors: what is missing, of another kind, or names no unit or cause; each with its place.
Result<Trace> trace_from_json(const Json& json, std::string_view where);

}  // namespace dovetail::simulator
