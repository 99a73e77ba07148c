// The choice of layouts as an abstract problem: variables that choose among their layouts, values that connect them,
// and a cost for each value that must be copied from one layout to another. compiler/layout/choose_layouts formulates
// it for a graph.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dovetail {

struct LayoutProblem {
  // For example, operands of one kernel that have the same layout.
  struct Variable {
    std::vector<std::string> layouts;  // at least one, without duplicates
    std::vector<double> costs;         // the cost of choosing each layout
  };
  struct Value {
    double relayout_cost = 0;  // cost of one copy into another layout, shared by all readers that need that layout
    std::size_t writer = 0;
    std::vector<std::size_t> readers;
  };
  std::vector<Variable> variables;
  std::vector<Value> values;
};
using LayoutChoice = std::vector<std::size_t>;  // by variable: index into its layouts

double cost_of(const LayoutProblem& problem, const LayoutChoice& choice);

// The cheapest choice if each variable has at most the same two layouts; else a choice that no change of any set of
// variables to one layout makes cheaper (expansion moves by minimum cuts: Boykov, Veksler and Zabih, «Fast Approximate
// Energy Minimization via Graph Cuts», 2001). Deterministic; at equal cost a variable keeps the layout that it lists
// first.
LayoutChoice solve(const LayoutProblem& problem);

}  // namespace dovetail
