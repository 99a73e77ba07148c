// Finds where the elements of a result come from, for nodes that only move values: their definitions are run on tensors
// of positions, so that one analysis covers every such operator and chains of them.
#pragma once

#include <cstdint>
#include <span>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail {

// Positions in the sources start here; smaller numbers are constants, by value.
constexpr std::int32_t kFirstSource = 1000;

// int32, with the shape of the last node's only result: kFirstSource + the position of the copied element, counting the
// elements of all `inputs` one after the other, each in row-major order; or the value of an int8 constant.
// Preconditions: `nodes` are in execution order and int8, read only `inputs` and constants, and select by position.
// Errors: positions that exceed int32, and errors of the operators' definitions.
Result<NdArray> element_sources(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                                std::span<const graph::ValueId> inputs);

}  // namespace dovetail
