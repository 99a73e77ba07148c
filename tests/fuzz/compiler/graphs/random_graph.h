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
  // Where the graph is one of the quantized forms that lowering knows: the largest step of its tensors.
  double step = 0;
};

// The same for equal seeds. Every third is one that passes match (drawn_patterns.h); the others are put together of up
// to six operators, each of which reads what others compute as its signature allows.
FuzzGraph random_graph(std::uint64_t seed);

}  // namespace dovetail::test
