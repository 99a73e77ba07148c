// Graphs of one shape in any size, to measure how the compiler's work grows with theirs: time and memory for n nodes
// should be about n times those for one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "compiler/graph/graph.h"

namespace dovetail::zoo {

struct Growth {
  std::string_view name;
  std::string_view shape;  // a description
  // About `nodes` nodes, at least one of each kind that the family has.
  graph::Graph (*make)(std::size_t nodes);
};

// In the families named «twice», nodes read one operand at two places, directly or through another node.
std::span<const Growth> growth_families();

}  // namespace dovetail::zoo
