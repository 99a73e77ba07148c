// Part of a graph as a separate graph.
#pragma once

#include <set>

#include "compiler/graph/graph.h"

namespace dovetail::graph {

// These nodes, with the constants that they read. Its inputs are the other values that they read, in execution order;
// its outputs are their results that are outputs of the graph, or that other nodes read or no node. Values and nodes
// keep their names, and values their types.
Graph extract(const Graph& graph, const std::set<NodeId>& nodes);

}  // namespace dovetail::graph
