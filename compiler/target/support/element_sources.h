// Where the elements of a result come from, for nodes that move values and compute nothing: found by running their own
// definitions on tensors of positions, so that every such operator, and chains of them, have one analysis.
#pragma once

#include <cstdint>
#include <span>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail {

// Positions in the sources of an element; below it: constants, by their value.
constexpr std::int32_t kFirstSource = 1000;

// int32, of the shape of the last node's only result: kFirstSource + the position of the element that it is a copy of,
// those of all `inputs` counted one behind the other, each in row-major order; or the value of an int8 constant.
// Preconditions: `nodes` are in execution order and int8, read nothing but `inputs` and constants, and choose by
// position. Errors: positions that exceed int32, and those of the operators' definitions.
Result<NdArray> element_sources(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                                std::span<const graph::ValueId> inputs);

}  // namespace dovetail
