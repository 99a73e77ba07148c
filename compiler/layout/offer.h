// In which layouts kernels can work, and which were chosen for them: what targets and choose_layouts exchange.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail {

// Layouts (compiler/layout/layout.h) by value; a value without one is stored as the model has it.
using Layouts = std::map<graph::ValueId, std::string>;

// Operands of a kernel that are stored alike, in whichever of some layouts is chosen for them.
struct LayoutVariable {
  std::vector<std::string> layouts;  // each once; the first is what the kernel likes best
  std::vector<double> costs = {};    // of each, in bytes moved; empty: none costs anything
  std::vector<graph::ValueId> reads = {}, writes = {};
};
// What a kernel can work on. choose_layouts decides.
struct KernelOffer {
  // Where two variables take different layouts, the kernel copies in passing: slower by so many bytes moved.
  struct Passage {
    std::size_t from, to;  // among `variables`
    double cost = 0;
  };
  graph::NodeId last;  // of the kernel's nodes: no other kernel has it as its last
  std::vector<LayoutVariable> variables =
      {};  // every value that it reads or writes belongs to one; constants may be left out
  std::vector<Passage> passages = {};
};
// What was chosen for the whole graph.
struct ChosenLayouts {
  std::map<std::pair<graph::NodeId, graph::ValueId>, std::string> reads;  // by kernel
  Layouts writes;   // of every value, inputs of the model included
  Layouts outputs;  // in which the model's outputs are handed out

  const std::string& read(graph::NodeId kernel, graph::ValueId value) const;
  const std::string& write(graph::ValueId value) const;
};

}  // namespace dovetail
