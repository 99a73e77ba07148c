// Measures candidates of accelerator tasks: cycles of the cycle simulator, which also computes the results. The same
// candidate costs the same at every time.
#pragma once

#include <cstdint>
#include <string>

#include "base/work.h"
#include "compiler/tune/measure.h"
#include "isa/config.h"
#include "simulator/memory/memory.h"

namespace dovetail::explore {

struct AccelMeasureOptions {
  simulator::MemorySpec memory = simulator::IdealMemory{};
  int workers = 0;         // threads; 0: one per processor that this process may use
  std::uint64_t seed = 1;  // of the operands
  Work* work = nullptr;    // what simulators stop with; outlives the measurers
};

std::string accel_machine(const simulator::MemorySpec& memory);  // Measurer::machine

// The candidate is one program from power-up, with its operands in DRAM. Its results are compared with those that the
// interpreter computes from the task's program, byte for byte.
tune::MakeMeasurer make_accel_measurer(const isa::HardwareConfig& config, const AccelMeasureOptions& options);

}  // namespace dovetail::explore
