// Random graphs of all operators, as files of any operator set, with values to run them on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail::test {

struct FuzzGraph {
  graph::Graph graph;
  std::map<std::string, NdArray> inputs;
  std::int64_t opset = 0;
  std::vector<std::byte> file;  // the graph in the forms of that operator set
  // For graphs in one of the quantized forms that lowering knows: the largest step of their tensors.
  double step = 0;
};

// Equal seeds give equal graphs. Every third graph is one that passes match (drawn_patterns.h); the others consist of
// up to six operators, each of which reads the results of others as its signature allows.
FuzzGraph random_graph(std::uint64_t seed);

}  // namespace dovetail::test
