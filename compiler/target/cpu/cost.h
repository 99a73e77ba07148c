// Estimates the cost of nodes on the processor without compiling them: docs/explanation/partition.md states the model.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

// Time on one core.
double estimate_seconds(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes, std::uint64_t operations,
                        std::uint64_t bytes, const Cpu& processor);

}  // namespace dovetail::cpu
