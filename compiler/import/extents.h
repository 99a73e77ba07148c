// Values whose number of elements along an axis depends on data: results of NonZero, Compress, Unique and
// NonMaxSuppression, and values stacked by loops of unknown length. In the graph they have the maximum number of
// elements (the rest is padding), and the actual extent is a separate value. Outputs of the model are cut to it when it
// runs; before that, such a value may only be read where results computed from the actual elements do not depend on the
// padding.
#pragma once

#include <cstddef>
#include <map>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::import {

struct Extent {
  std::size_t axis = 0;
  graph::ValueId extent;    // int64[1]
  bool zero_padded = true;  // the padding elements are zero
};
using Extents = std::map<graph::ValueId, Extent>;

// Operators such as NonZero become the operator that yields the maximum number of elements and their actual number
// (compiler/ops/bounded.cpp).
void become_bounded(graph::Graph& graph, graph::NodeId node);

// Records the node's results that have such extents, because of its operator or its operands. Error: an operand has
// one, and the operator has no rule for it. Precondition: the node's types are inferred.
Result<void> follow_extents(const graph::Graph& graph, graph::NodeId node, Extents& extents);

}  // namespace dovetail::import
