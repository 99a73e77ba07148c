// A partitioned graph to a bundle: each target's code generator plans and emits its regions, the builder makes the relayouts between them.
#pragma once

#include <optional>

#include "base/result.h"
#include "compiler/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/partition.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail {

enum class Expose {
  needed,  // of a region's results, those read outside of it
  all,     // all of them: for comparing a run with the reference
};

struct AssembleOptions {
  std::optional<cpu::Cpu> processor;  // of host programs; empty: they are interpreted
  Expose expose = Expose::needed;
  bool free_borders = false;          // inputs and outputs of the bundle lie as the kernels like them best
};

Result<Assembled> assemble(const graph::Graph& graph, const Partition& parts, const AssembleOptions& options, const Dump& dump);

}  // namespace dovetail
