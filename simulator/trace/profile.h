// The analysis of a timed run: how the cycles of each unit and layer were spent, what bounds them, and how long other
// hardware would take.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "isa/accelerators.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/cycle/bounds.h"
#include "simulator/cycle/what_if.h"
#include "simulator/memory/memory.h"
#include "simulator/simulator.h"
#include "simulator/trace/attribution.h"
#include "simulator/trace/trace.h"

namespace dovetail::simulator {

// Instructions [begin, end) of a node of the model.
struct SourceRange {
  std::size_t begin = 0, end = 0;
  std::string source;
};

// A program of the trace, whose launches are consecutive there.
struct TracedProgram {
  std::string name;
  isa::HardwareConfig config;
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  std::vector<WhatIf> what_if;
  std::map<std::string, std::uint64_t> useful_macs = {};  // of the model, by source; empty: not known
  // Accelerators that divide the program. Of launches that begin together, `launches` has the one that ends last; the
  // instructions of the others are counted by `ranges`.
  std::int64_t divided = 1;
  std::vector<SourceRange> ranges = {};
  // Of accelerators that differ: the configurations of all after the first, and the accelerator of each instruction.
  std::vector<isa::HardwareConfig> others = {};
  std::vector<std::size_t> accelerators = {};

  isa::AcceleratorConfigs configs() const { return {config, others}; }
};

// The kinds of work of the compute unit. Its loads (of micro-ops, ACC and TAB) overlap with nothing, so all their
// cycles count; loads of inputs and weights are in the load unit.
inline constexpr std::array<std::string_view, 5> kComputeKindNames{"gemm", "alu", "load acc", "load uop", "other"};
struct KindTime {
  std::uint64_t instructions = 0;
  UnitTime time;
};

// What the compute unit does in a cycle: work by kind, or a wait by its cause.
inline constexpr std::array<std::string_view, 10> kCycleCauseNames{
    "gemm", "alu", "load acc", "load uop", "other", "load token", "store token", "drain", "unit", "fetch"};
using CyclesByCause = std::array<std::uint64_t, kCycleCauseNames.size()>;

// A part of a run: its work, the lower bounds of its time, and its actual time. `cycles` are those that the compute
// unit spent on it (simulator/trace/attribution.h), so the parts' cycles add up to the run's. Loads run ahead, possibly
// during the preceding part, so a part's bounds may exceed its cycles.
struct ProfilePart {
  std::string name;
  std::uint64_t cycles = 0;
  // For a layer, those of its instructions and their fetch, without DRAM commands
  // and the ALU's reads of a second operand. For the whole run, all that the trace has.
  Counters counters;
  // Of a layer that accelerators divide, those of the accelerators that do not end last. All other members of the layer
  // are of those that do: their cycles and work, and the bounds of one accelerator.
  Counters others = {};
  Bounds bounds;
  std::array<UnitTime, 3> units;  // by isa::Queue
  CyclesByCause by_cause{};       // `cycles`, by kCycleCauseNames
  std::array<MemorySplit, 3>
      waits;  // the busy cycles of each unit that are waits for memory; zero if the engine does not record them

  double of_bound() const {
    return cycles == 0 ? 0 : static_cast<double>(bounds.tightest()) / static_cast<double>(cycles);
  }
  double macs_per_cycle() const {
    return cycles == 0 ? 0 : static_cast<double>(counters.macs) / static_cast<double>(cycles);
  }
  // The model's multiplications, without those due to padding channels and batch to the hardware's blocks. Efficiency
  // is computed from them: multiplications per cycle, relative to the hardware's peak.
  std::optional<std::uint64_t> useful_macs;
  double useful_macs_per_cycle() const {
    return cycles == 0 ? 0 : static_cast<double>(useful_macs.value_or(0)) / static_cast<double>(cycles);
  }
  std::uint64_t bytes_read = 0;  // instructions included
  std::uint64_t bytes_written = 0;
  double charged_bytes = 0;  // PeakRate::charged()
  // Multiplications per charged byte.
  double intensity() const { return charged_bytes == 0 ? 0 : static_cast<double>(counters.macs) / charged_bytes; }
};

struct Profile {
  ProfilePart whole;
  ProfilePart after;                // the cycles after the last instruction of each launch, which belong to no layer
  std::vector<ProfilePart> layers;  // of the trace's sources, in its order; those without instructions are left out
  std::array<std::array<std::uint64_t, kUnitClassNames.size()>, 3> classes{};
  std::array<KindTime, kComputeKindNames.size()> compute_kinds;  // of the compute unit's time, except for the part
                                                                 // after its last instruction
  bool knows_waits = false;
  std::array<MemorySplit, 3> waits;  // of class memory
  FetchTime fetch;
  // Of the whole, and of a layer: of the accelerator with the most multipliers, if they differ.
  double peak_macs_per_cycle = 0, layer_peak_macs_per_cycle = 0;
  PeakRate peak_rate;
};

// Analyzes the launches [first_launch, first_launch + program.launches.size()) of the trace, which are the program's.
Profile profile(const Trace& trace, std::size_t first_launch, const TracedProgram& program, const MemorySpec& memory);

// {"cycles", "bounds", "of_tightest_bound", "macs", "macs_per_cycle", "useful_macs", "useful_macs_per_cycle",
// "bytes_read", "bytes_written", "macs_per_byte", "cycles_by_cause": by kCycleCauseNames, "units": {"load": {"cycles",
// "busy", "waiting": {...}, "memory":
// {...}}, ...}}; "memory" only if waits are known; useful_* are null if unknown
Json to_json(const ProfilePart& part, bool knows_waits);
// by kComputeKindNames: {"gemm": {"instructions", "cycles", "busy", "waiting": {...}}, ...}
Json to_json(const std::array<KindTime, kComputeKindNames.size()>& kinds);

}  // namespace dovetail::simulator
