// What commands report of an engine with a clock: its options, the trace file, and where the cycles went.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "bundle/code/accel.h"
#include "cli/latency.h"
#include "cli/options.h"
#include "cli/system.h"
#include "isa/verify.h"
#include "runtime/executor.h"
#include "simulator/cycle/bounds.h"
#include "simulator/cycle/what_if.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"
#include "simulator/trace/profile.h"

namespace dovetail::cli {

// --trace, --html, --waves, --assertions and --no-build.
struct ClockArguments {
  std::optional<std::string> trace, html, waves;
  bool assertions = false, no_build = false;

  void declare(Options& options);
  // Error: one of them was given that `engine`, for lack of a clock or of a design, would ignore.
  Result<simulator::EngineOptions> engine_options(std::string_view engine, const System& system) const;
  // A line that names the waveforms of so many programs; empty where none were asked for.
  std::string written(std::size_t programs) const;
};

// A program that has run, as an engine with a clock reports it.
struct TimedProgram {
  std::string name;
  isa::HardwareConfig config;
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  std::vector<simulator::LaunchTrace> traces;  // one per launch
  simulator::Counters counters;
  std::vector<bundle::InstructionRange> ranges = {};  // nodes of the model, if they are known
  std::vector<simulator::WhatIf> what_if = {};
};

// The accelerator steps of a run, if its engine has a clock; `ask_what_if` times each on other hardware too.
Result<std::vector<TimedProgram>> timed_programs(const bundle::Bundle& bundle, const runtime::RunResult& result,
                                                 const simulator::EngineOptions& options, bool ask_what_if);

std::uint64_t cycles_of(const TimedProgram& program);
// The trace file and the page, as far as `arguments` ask for them. `title` is the title of the page; `latency`: of the
// model whose steps the programs are, if they are of one; `energy`: as energy_json() reports it.
Result<void> write_traces(const ClockArguments& arguments, std::string_view title,
                          std::span<const TimedProgram> programs, const System& system,
                          const std::optional<Latency>& latency, const Json& energy);

// Cycles, what each unit did and waited for, bounds, layers and answers to «what if», for people and for machines.
std::string timing_text(const TimedProgram& program, const System& system);
Json timing_json(const TimedProgram& program, const System& system);

// The table of what each unit did, in per cent of `cycles`.
std::string unit_table(const std::array<std::array<std::uint64_t, simulator::kUnitClassNames.size()>, 3>& classes,
                       std::uint64_t cycles);
// What the waits for memory were for, unit by unit, and what fetch did, in per cent of `cycles`.
std::string wait_table(const std::array<simulator::MemorySplit, 3>& units, const simulator::FetchTime& fetch,
                       std::uint64_t cycles);
// What the compute unit ran: products, ALU, and the loads that nothing hides.
std::string compute_table(const simulator::Profile& profile);
// By source of the trace, where it has more than one: cycles of each unit.
std::string layer_table(const simulator::Trace& trace);
// The same with bounds, and what the busy cycles waited for memory.
std::string layer_table(const simulator::Profile& profile);

}  // namespace dovetail::cli
