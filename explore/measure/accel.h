// Measures candidates of accelerator tasks: cycles of the cycle simulator, which also computes the results. A candidate
// always has the same cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "base/work.h"
#include "compiler/tune/measure.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

struct AccelMeasureOptions {
  simulator::MemorySpec memory = simulator::IdealMemory{};
  int workers = 0;                      // threads; 0: one per processor that this process may use
  std::uint64_t seed = 1;               // seed of the operands
  Work* work = nullptr;                 // stops simulators; outlives the measurers
  std::vector<NdArray> arguments = {};  // inputs and constants in parameter order; none: random ones
};

std::string accel_machine(const simulator::MemorySpec& memory);  // Measurer::machine

// Each candidate is one program that runs from power-up, with its operands in DRAM. Its results are compared byte for
// byte with those of the interpreter for the task's program.
tune::MakeMeasurer make_accel_measurer(const isa::HardwareConfig& config, const AccelMeasureOptions& options);

}  // namespace dovetail::explore
