// The report of a timing engine for a launch: one event per instruction, and the activity of each unit in each cycle.
// One schema for all engines, so that two traces of one program can be compared event by event.
// docs/reference/timing.md, sections 1 and 11, defines every number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/instruction.h"
#include "simulator/counters.h"
#include "simulator/memory/delay.h"
#include "simulator/trace/traffic.h"

namespace dovetail::simulator {

// Why an instruction did not start one cycle earlier.
enum class StallCause : std::uint8_t { none, fetch, unit, drain, token_prev, token_next };

// The activity of a unit in a cycle.
enum class UnitClass : std::uint8_t { work, interlock, memory, push, pipeline, token, fetch, hand_over };

inline constexpr std::array<std::string_view, 6> kStallCauseNames{"none",  "fetch",      "unit",
                                                                  "drain", "token_prev", "token_next"};
inline constexpr std::array<std::string_view, 8> kUnitClassNames{"work",     "interlock", "memory", "push",
                                                                 "pipeline", "token",     "fetch",  "hand_over"};

// Classes of a unit's cycles while a launch runs.
inline constexpr std::array kUnits{isa::Queue::load, isa::Queue::compute, isa::Queue::store};

struct TraceEvent {
  std::uint64_t instruction = 0;  // index in the program
  isa::Queue unit = isa::Queue::compute;
  std::uint64_t issue = 0, start = 0, end = 0;
  StallCause cause = StallCause::none;
  std::uint32_t source = 0;  // index into Trace::sources; 0: unknown
  bool operator==(const TraceEvent&) const = default;
};

// The activity of fetch in each cycle. The rows of a launch sum to its cycles.
struct FetchTime {
  std::uint64_t issue = 0;                    // slots
  MemorySplit memory;                         // the beat of its next slot has not arrived
  std::array<std::uint64_t, 3> queue_full{};  // by isa::Queue: the queue of its next instruction has no room
  std::uint64_t done = 0;                     // all instructions are issued
  std::uint64_t total() const { return issue + memory.total() + queue_full[0] + queue_full[1] + queue_full[2] + done; }
  FetchTime& operator+=(const FetchTime& other);
  bool operator==(const FetchTime&) const = default;
};

// The causes of a launch's waits for memory, and its traffic over the port.
struct MemoryWaits {
  std::array<MemorySplit, 3> units;         // by isa::Queue; each sums to its cycles of class memory
  std::vector<MemorySplit> instructions{};  // in program order; for each unit they sum to the unit's
  FetchTime fetch;
  Traffic traffic;
  bool operator==(const MemoryWaits&) const = default;
};

struct LaunchTrace {
  std::uint64_t cycles = 0;
  std::vector<TraceEvent> events;  // in program order; empty unless requested
  std::array<std::array<std::uint64_t, kUnitClassNames.size()>, 3>
      classes{};                       // cycles, by isa::Queue and UnitClass; each row sums to `cycles`
  std::optional<MemoryWaits> waits{};  // kept with the events, by engines that record it
  std::optional<Counters> counters{};  // those of Simulator::launch(); empty in traces of other tools

  // False: only cycles are known, as a device counts them.
  bool knows_units() const { return cycles == 0 || classes != decltype(classes){}; }
  bool operator==(const LaunchTrace&) const = default;
};

struct Trace {
  std::vector<LaunchTrace> launches;
  std::vector<std::string> sources{""};  // nodes of the model
  bool operator==(const Trace&) const = default;
};

// {"kind": "trace", "sources": [...], "launches": [{"cycles", "classes": {"load": {"work": n, ...}, ...}, "events":
// [[instruction, "load", issue, start, end, "none", source], ...], "waits": {"load": {"latency": n, ...}, ..., "fetch":
// {"issue", "memory": {...}, "queue_full": {"load", ...}, "done"}, "instructions": [[event, latency, bandwidth, ...],
// ...], "traffic": {"window", "read": [beats, ...], "written"}}, "counters": {...}}]}; "waits" and "counters" only if
// known, and only the instructions that waited
Json to_json(const Trace& trace);
Json to_json(const MemorySplit& split);
Json to_json(const FetchTime& time);
// Errors: values that are missing, of another type, or name no unit or cause; each with its location.
Result<Trace> trace_from_json(const Json& json, std::string_view where);

}  // namespace dovetail::simulator
