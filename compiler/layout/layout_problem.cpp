#include "compiler/layout/layout_problem.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/check.h"
#include "compiler/layout/min_cut.h"

namespace dovetail {

namespace {

using Variable = LayoutProblem::Variable;
using Value = LayoutProblem::Value;

const std::string& layout_of(const LayoutProblem& problem, const LayoutChoice& choice, std::size_t variable) {
  return problem.variables[variable].layouts[choice[variable]];
}

std::optional<std::size_t> position_of(const Variable& variable, const std::string& layout) {
  const auto it = std::find(variable.layouts.begin(), variable.layouts.end(), layout);
  if (it == variable.layouts.end()) return std::nullopt;
  return static_cast<std::size_t>(it - variable.layouts.begin());
}

// One expansion: every variable either keeps its layout or takes `layout`, whichever set of changes is the cheapest. A
// variable's node is on the source side if it changes.
class Expansion {
 public:
  Expansion(const LayoutProblem& problem, const LayoutChoice& choice, const std::string& layout)
      : problem_(problem), choice_(choice), layout_(layout) {
    for (std::size_t v = 0; v < problem.variables.size(); ++v) add_variable(v);
    for (const Value& value : problem.values) add_value(value);
  }

  LayoutChoice best() {
    cut_.solve();
    LayoutChoice changed = choice_;
    for (std::size_t v = 0; v < changed.size(); ++v)
      if (cut_.on_source_side(nodes_[v]))
        if (const auto position = position_of(problem_.variables[v], layout_)) changed[v] = *position;
    return changed;
  }

 private:
  void add_variable(std::size_t v) {
    const Variable& variable = problem_.variables[v];
    const std::size_t node = cut_.add_node();
    nodes_.push_back(node);
    const auto position = position_of(variable, layout_);
    if (position && *position == choice_[v]) return cut_.add_edge(MinCut::kSource, node, MinCut::kInfinite);
    cut_.add_edge(MinCut::kSource, node, variable.costs[choice_[v]]);
    cut_.add_edge(node, MinCut::kSink, position ? variable.costs[*position] : MinCut::kInfinite);
  }

  void add_value(const Value& value) {
    if (value.relayout_cost == 0) return;
    const std::size_t writer = nodes_[value.writer];
    const std::string& written = layout_of(problem_, choice_, value.writer);
    std::map<std::string_view, std::vector<std::size_t>> keepers;  // readers by the layout that they may keep
    for (const std::size_t reader : value.readers)
      if (const std::string& read = layout_of(problem_, choice_, reader); read != layout_)
        keepers[read].push_back(nodes_[reader]);
    for (const auto& [read, readers] : keepers) {
      // A copy into `read`: needed if a reader keeps this layout, and the writer does not write it (any more).
      const std::size_t copy = cut_.add_node();
      cut_.add_edge(read == written ? writer : MinCut::kSource, copy, value.relayout_cost);
      for (const std::size_t reader : readers) cut_.add_edge(copy, reader, MinCut::kInfinite);
    }
    // A copy into the new layout: needed if a reader changes to it, and the writer does not.
    const std::size_t copy = cut_.add_node();
    for (const std::size_t reader : value.readers) cut_.add_edge(nodes_[reader], copy, MinCut::kInfinite);
    cut_.add_edge(copy, writer, value.relayout_cost);
  }

  const LayoutProblem& problem_;
  const LayoutChoice& choice_;
  const std::string& layout_;
  MinCut cut_;
  std::vector<std::size_t> nodes_;  // by variable
};

}  // namespace

double cost_of(const LayoutProblem& problem, const LayoutChoice& choice) {
  double total = 0;
  for (std::size_t v = 0; v < choice.size(); ++v) total += problem.variables[v].costs[choice[v]];
  for (const Value& value : problem.values) {
    std::set<std::string_view> needed;
    for (const std::size_t reader : value.readers) needed.insert(layout_of(problem, choice, reader));
    needed.erase(layout_of(problem, choice, value.writer));
    total += value.relayout_cost * static_cast<double>(needed.size());
  }
  return total;
}

LayoutChoice solve(const LayoutProblem& problem) {
  std::vector<std::string> layouts;  // in order of appearance: deterministic
  for (const Variable& variable : problem.variables) {
    DOVETAIL_CHECK(!variable.layouts.empty() && variable.layouts.size() == variable.costs.size(),
                   "a variable must have layouts, each with its cost");
    for (const std::string& layout : variable.layouts)
      if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) layouts.push_back(layout);
  }
  LayoutChoice best(problem.variables.size(), 0);
  double cost = cost_of(problem, best);
  for (bool improved = cost > 0; improved;) {  // a cost of zero cannot be improved
    improved = false;
    for (const std::string& layout : layouts) {
      LayoutChoice changed = Expansion(problem, best, layout).best();
      if (const double changed_cost = cost_of(problem, changed); changed_cost < cost * (1 - 1e-9)) {
        best = std::move(changed);
        cost = changed_cost;
        improved = true;
      }
    }
  }
  return best;
}

}  // namespace dovetail
