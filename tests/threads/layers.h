// A model layer by layer: each group that it has, once, as its own graph that is small enough to be walked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"
#include "tests/threads/walk_graph.h"

namespace dovetail::test {

struct Layer {
  std::string name;                    // of the group's main node
  graph::Graph graph;                  // of its nodes; what other groups make are its inputs
  std::vector<std::string> cuts = {};  // "56 -> 28 of rows and columns": extents that were made smaller
  bool kinds_kept = true;              // the schedules are of the kinds that the whole layer has
};

// A layer that takes more than `most_steps` is made smaller: extents are halved one after the other, those of images
// and sequences first, then other ones of tensors that are not constants, then those of constants too, of which the
// first elements remain. What another operator definition, or another kind of schedule, would follow from is not done,
// unless nothing else is left.
Result<std::vector<Layer>> layers_of(const graph::Graph& graph, const std::vector<Configuration>& configurations,
                                     Schedules& schedules, std::uint64_t most_steps);

}  // namespace dovetail::test
