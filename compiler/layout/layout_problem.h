// Which layout everything takes, as its own problem: variables that choose among the layouts they know, values
// that travel between them, and a cost for each value that must be copied from one layout to another.
// compiler/layout/choose_layouts poses it for a graph.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dovetail {

struct LayoutProblem {
  // Operands of one kernel that are stored alike, say.
  struct Variable {
    std::vector<std::string> layouts;  // at least one, each once
    std::vector<double> costs;         // of choosing it; as many
  };
  struct Value {
    double relayout_cost = 0;  // of one copy into another layout, which all readers that need that layout share
    std::size_t writer = 0;
    std::vector<std::size_t> readers;
  };
  std::vector<Variable> variables;
  std::vector<Value> values;
};
using LayoutChoice = std::vector<std::size_t>;  // by variable: position among its layouts

double cost_of(const LayoutProblem& problem, const LayoutChoice& choice);

// The cheapest choice where each variable knows at most the same two layouts; else one that no change of any set of
// variables to one layout makes cheaper (expansion moves by minimum cuts: Boykov, Veksler and Zabih, «Fast Approximate
// Energy Minimization via Graph Cuts», 2001). Deterministic; where costs are equal a variable keeps the layout that it
// names first.
LayoutChoice solve(const LayoutProblem& problem);

}  // namespace dovetail
