// A partitioned graph with its layouts to a bundle: each target's code generator appends the steps of its regions, the
// builder the copies between layouts.
#pragma once

#include <optional>

#include "base/result.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/graph/graph.h"
#include "compiler/layout/choose_layouts.h"
#include "compiler/partition/partition.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail {

// `processor`: of host programs; empty: they are interpreted.
Result<Assembled> assemble(const graph::Graph& graph, const Partition& parts, const LayoutPlan& layouts,
                           const std::optional<cpu::Cpu>& processor, const Dump& dump);

}  // namespace dovetail
