// Values with as many elements along an axis as other values say: results of NonZero, Compress, Unique and
// NonMaxSuppression, and what loops of unknown length stack. In the graph they have the most elements that there can
// be, and the extent is a value of its own. Outputs of the model are cut to it when it runs; until there, such a value
// may only be read where what is computed of the elements that are meant does not depend on the others.
#pragma once

#include <cstddef>
#include <map>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

struct Extent {
  std::size_t axis = 0;
  graph::ValueId extent;    // int64[1]
  bool zero_behind = true;  // the elements that are not meant are zero
};
using Extents = std::map<graph::ValueId, Extent>;

// NonZero and its like become the operator that yields the most elements and their number (compiler/ops/bounded.cpp).
void become_bounded(graph::Graph& graph, graph::NodeId node);

// Enters results of the node that have such extents, by its own meaning or by its operands'. Error: an operand has one,
// and the operator has no rule for it. Precondition: the node's types are inferred.
Result<void> follow_extents(const graph::Graph& graph, graph::NodeId node, Extents& extents);

}  // namespace dovetail::import
