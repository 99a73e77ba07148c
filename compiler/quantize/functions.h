// Functions of one tensor: values that pointwise operators compute from one tensor and constants, for example
// x · clip(x + 3, 0, 6) / 6. lower_qdq turns such a function into one table, if only its input and its result are
// quantized.
#pragma once

#include <map>
#include <set>

#include "compiler/graph/graph.h"

namespace dovetail::quantize {

struct Functions {
  std::map<graph::NodeId, graph::ValueId> nodes;  // the tensor of whose functions each node is a part
  std::set<graph::ValueId> ends;                  // the values that other nodes read
};

// `apart`: nodes that must not be parts of functions. Functions whose last node `may_end` rejects are omitted.
Functions find_functions(const graph::Graph& graph, const std::set<graph::NodeId>& apart,
                         bool (*may_end)(const graph::Node& node));

}  // namespace dovetail::quantize
