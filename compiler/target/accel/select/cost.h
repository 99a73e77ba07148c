// Estimates the cost of an operation on the accelerator without compiling it; docs/explanation/partition.md describes
// the model.
#pragma once

#include <cstdint>

#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/select/select.h"

namespace dovetail::accel {

struct CycleEstimate {
  std::uint64_t gemm = 0, alu = 0;       // cycles of the compute unit; resets count as gemm
  std::uint64_t loaded = 0, stored = 0;  // DRAM bytes, each operand once
  std::uint64_t cycles = 0;              // the slowest unit, and the memory's latency
};
CycleEstimate estimate_cycles(const graph::Graph& graph, const Operation& operation, const Core& config);

}  // namespace dovetail::accel
