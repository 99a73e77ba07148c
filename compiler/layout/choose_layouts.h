// Chooses the layout of every value of a partitioned graph. Targets offer the layouts that their kernels can read and
// write; this chooses for the whole graph, so that as few bytes as possible are copied from one layout to another.
// Copies of constants are free (they are packed at compile time), a copy serves all readers of the same layout, and a
// kernel that reads one layout and writes another converts without a separate copy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/layout/offer.h"

namespace dovetail {

// A copy that becomes a step of the bundle.
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
  bool free_borders = false;  // the model's inputs and outputs have the layouts that the kernels prefer
  bool choose = true;         // false: every kernel uses its preferred layout, at any cost
};

// `offers`: of all kernels of the graph, in execution order.
LayoutPlan choose_layouts(const graph::Graph& graph, std::span<const KernelOffer> offers, const LayoutOptions& options);

// A line per kernel, and one per variable: its layouts, the preferred one first.
std::string to_string(const graph::Graph& graph, std::span<const KernelOffer> offers);
// A line per value that does not have the model's layout, and one per copy.
std::string to_string(const graph::Graph& graph, const LayoutPlan& plan);

}  // namespace dovetail
