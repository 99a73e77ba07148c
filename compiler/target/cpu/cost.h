// What nodes cost on the processor, estimated without compiling them: docs/partition.md states the model.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

inline constexpr double kMemoryBytesPerSecond = 10e9;  // of one core, beyond its caches
inline constexpr double kKernelSeconds = 1e-6;         // of starting a kernel

// On one core. `processor`: empty for the interpreter.
double estimate_seconds(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes, std::uint64_t operations,
                        std::uint64_t bytes, const std::optional<Cpu>& processor);

}  // namespace dovetail::cpu
