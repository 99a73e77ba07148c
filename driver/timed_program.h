// Programs that ran on an engine with a clock: their traces, and the profile of their cycles.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/code/accel.h"
#include "isa/accelerators.h"
#include "runtime/executor.h"
#include "simulator/cycle/what_if.h"
#include "simulator/engine_options.h"
#include "simulator/simulator.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/traced_program.h"

namespace dovetail::driver {

// The report of a program that ran on an engine with a clock.
struct TimedProgram {
  std::string name;
  isa::HardwareConfig config;
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;           // of those that begin together, the one that ends last
  std::vector<simulator::LaunchTrace> traces;  // one per launch
  simulator::Counters counters;
  std::vector<bundle::InstructionRange> ranges = {};  // ranges of the model's nodes, if known
  std::vector<simulator::WhatIf> what_if = {};
  // The energy of the layers of profile_of(), and last of what belongs to no layer; empty: not known, as of
  // accelerators that differ.
  std::vector<double> layer_joules = {};
  std::int64_t divided = 1;  // accelerators between which its launches are divided
  // Of accelerators that differ: TracedProgram::others and ::accelerators.
  std::vector<isa::HardwareConfig> others = {};
  std::vector<std::size_t> accelerators = {};
};

// The accelerator steps of a run, if its engine has a clock; with `ask_what_if` also their time on other hardware.
Result<std::vector<TimedProgram>> timed_programs(const bundle::Bundle& bundle, const runtime::RunResult& result,
                                                 const simulator::EngineOptions& options, bool ask_what_if);

std::uint64_t cycles_of(const TimedProgram& program);
// One trace of all programs. Its events name the node of the model that the instruction belongs to.
simulator::Trace trace_of(std::span<const TimedProgram> programs);
simulator::TracedProgram traced(const TimedProgram& program);
// `trace`: the trace of this program alone.
simulator::Profile profile_of(const TimedProgram& program, const simulator::Trace& trace,
                              const simulator::MemorySpec& memory);

}  // namespace dovetail::driver
