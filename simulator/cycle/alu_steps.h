// The cycles of one ALU instruction's steps in stage R (docs/reference/timing.md, section 9), computed without
// iterating over the steps: between two consecutive steps only the difference of two indices affects the time, and it
// is linear in the loop variables.
#pragma once

#include <cstdint>
#include <span>

#include "isa/instruction.h"
#include "isa/spec/timing.h"

namespace dovetail::simulator {

struct AluSteps {
  std::uint64_t count = 0;               // 0: zero-trip
  std::uint64_t cycles = 0;              // of all steps, interlocks included; excludes the interlock of the first step
  std::uint64_t interlocks = 0;          // likewise
  std::uint64_t last_cycles = 0;         // of the last step
  std::uint64_t cycles_before_last = 0;  // of the step before the last; 0: there is no such step
  std::uint64_t first_read = 0;          // the first index that the first step reads
  std::uint64_t last_dst = 0;            // of the last step
  std::uint64_t reads = 0;               // of ACC
};
static_assert(isa::spec::kAluCyclesPerUopImm.value == 1 && isa::spec::kAluCyclesPerUopRepeated.value == 1,
              "a step must take a cycle in R for each index of ACC that it reads, like vector_cycles of kAluOps");

// `uops`: the micro-op memory; `batch`: of the configuration. Precondition: the micro-op range is within the memory,
// unless the instruction is zero-trip.
AluSteps alu_steps(const isa::Alu& alu, std::span<const isa::Uop> uops, std::int64_t batch);

}  // namespace dovetail::simulator
