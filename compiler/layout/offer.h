// The layouts that kernels support, and those chosen for them: exchanged between targets and choose_layouts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail {

// Layouts (compiler/layout/layout.h) by value; a value without one has the model's layout.
using Layouts = std::map<graph::ValueId, std::string>;

// Operands of a kernel that must have the same layout, chosen from a list.
struct LayoutVariable {
  std::vector<std::string> layouts;  // without duplicates; the kernel prefers the first
  std::vector<double> costs = {};    // of each, in bytes moved; empty: all are free
  std::vector<graph::ValueId> reads = {}, writes = {};
};
// The layouts that a kernel supports. choose_layouts selects among them.
struct KernelOffer {
  // If two variables have different layouts, the kernel converts while it computes: slower by this many bytes moved.
  struct Passage {
    std::size_t from, to;  // indices of `variables`
    double cost = 0;
  };
  graph::NodeId last;  // identifies the kernel: its last node
  std::vector<LayoutVariable> variables =
      {};  // every value that it reads or writes belongs to one; constants may be left out
  std::vector<Passage> passages = {};
};
// The choice for the whole graph.
struct ChosenLayouts {
  std::map<std::pair<graph::NodeId, graph::ValueId>, std::string> reads;  // by kernel
  Layouts writes;   // of every value, including inputs of the model
  Layouts outputs;  // of the model's outputs as returned to the caller

  const std::string& read(graph::NodeId kernel, graph::ValueId value) const;
  const std::string& write(graph::ValueId value) const;
};

}  // namespace dovetail
