// The cycles of one ALU instruction's steps in stage R (docs/reference/timing.md, section 9). Without the waits of kind
// alu_long they are computed without iterating over the steps: between two consecutive steps only the difference of two
// indices affects the time, and it is linear in the loop variables.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "isa/instruction.h"
#include "isa/spec/timing.h"

namespace dovetail::simulator {

struct AluSteps {
  std::uint64_t count = 0;               // 0: zero-trip
  std::uint64_t cycles = 0;              // of all steps, without waits
  std::uint64_t last_cycles = 0;         // of the last step
  std::uint64_t cycles_before_last = 0;  // of the step before the last; 0: there is no such step
  std::uint64_t reads = 0;               // of ACC
};
static_assert(isa::spec::kAluCyclesPerUopImm.value == 1 && isa::spec::kAluCyclesPerUopRepeated.value == 1,
              "a step must take a cycle in R for each index of ACC that it reads, like vector_cycles of kAluOps");

// `uops`: the micro-op memory; `batch`: of the configuration. Precondition: the micro-op range is within the memory,
// unless the instruction is zero-trip.
AluSteps alu_steps(const isa::Alu& alu, std::span<const isa::Uop> uops, std::int64_t batch);

// The most recent results of kind alu_long, of which some may not be written yet: those of as many steps as can leave
// R before the result of the first of them is written.
class LongResults {
 public:
  struct Waits {
    std::uint64_t cycles = 0;       // of all steps
    std::uint64_t last = 0;         // of the last step
    std::uint64_t before_last = 0;  // of the step before it
  };

  // How long the steps of `alu`, which is of kind alu_long and not zero-trip, wait in R for results that they read. Its
  // first step enters R in cycle `begin`. Walks through the steps.
  Waits enter(const isa::Alu& alu, std::span<const isa::Uop> uops, std::int64_t batch, std::uint64_t begin);

 private:
  struct Result {
    std::uint64_t written = 0, dst = 0;  // cycle, element of ACC
  };
  std::array<Result, static_cast<std::size_t>(isa::spec::kAluInterlockCycles.value)> recent_{};
  std::size_t oldest_ = 0;
};
static_assert(isa::spec::kAluInterlockCycles.value == isa::spec::kAluLongReadToWrite.value - 1,
              "a step that follows at once waits until the cycle of the write");

}  // namespace dovetail::simulator
