// A model layer by layer: each different group, as a separate graph that is small enough for run_threads.
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
  graph::Graph graph;                  // of its nodes; results of other groups are its inputs
  std::vector<std::string> cuts = {};  // "56 -> 28 of rows and columns": extents that were made smaller
  bool kinds_kept = true;              // the schedules are of the kinds that the whole layer has
};

// A layer that takes more than `most_steps` is shrunk: extents are halved one after the other, those of images and
// sequences first, then others of tensors that are not constants, then those of constants too, of which the first
// elements remain. Cuts that would change the operator's definition, or the kind of schedule, are made only if nothing
// else is left.
Result<std::vector<Layer>> layers_of(const graph::Graph& graph, const std::vector<Configuration>& configurations,
                                     Schedules& schedules, std::uint64_t most_steps);

}  // namespace dovetail::test
