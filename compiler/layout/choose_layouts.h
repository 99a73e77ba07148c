// How every value of a partitioned graph is stored. Targets say which layouts their kernels can read and write; this
// decides over the whole graph, so that as few bytes as possible are copied from one layout to another. Copies of
// constants cost nothing (they are packed while compiling), a copy serves all readers of the same layout, and a kernel
// that can read one layout and write another is a copy made in passing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/layout/offer.h"

namespace dovetail {

// A copy that the bundle will hold as a step.
struct Relayout {
  graph::ValueId value;
  std::string from, to;
  std::uint64_t bytes = 0;             // read and written
  std::vector<graph::NodeId> readers;  // kernels by their last node; the model's outputs have none
};
struct LayoutPlan {
  ChosenLayouts chosen;
  std::vector<Relayout> relayouts;  // in the order of the values
};
struct LayoutOptions {
  bool free_borders = false;  // the model's inputs and outputs are stored as the kernels like them best
  bool choose = true;         // else every kernel takes the layout that it likes best, whatever that costs
};

// `offers`: of all kernels of the graph, in execution order.
LayoutPlan choose_layouts(const graph::Graph& graph, std::span<const KernelOffer> offers, const LayoutOptions& options);

// A line per kernel, and one per variable: the layouts that it takes, the best first.
std::string to_string(const graph::Graph& graph, std::span<const KernelOffer> offers);
// A line per value that is not as the model has it, and one per copy.
std::string to_string(const graph::Graph& graph, const LayoutPlan& plan);

}  // namespace dovetail
