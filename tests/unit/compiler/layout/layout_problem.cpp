#include "compiler/layout/layout_problem.h"

#include <random>

#include "compiler/layout/min_cut.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

LayoutChoice brute_force(const LayoutProblem& problem) {
  LayoutChoice choice(problem.variables.size(), 0), best = choice;
  double cost = cost_of(problem, choice);
  for (;;) {
    std::size_t v = 0;
    for (; v < choice.size() && ++choice[v] == problem.variables[v].layouts.size(); ++v) choice[v] = 0;
    if (v == choice.size()) return best;
    if (const double here = cost_of(problem, choice); here < cost) cost = here, best = choice;
  }
}

LayoutProblem random_problem(std::mt19937& random, const std::vector<std::string>& layouts) {
  const auto any = [&](std::size_t bound) { return random() % bound; };
  LayoutProblem problem;
  const std::size_t variables = 2 + any(7);
  for (std::size_t v = 0; v < variables; ++v) {
    LayoutProblem::Variable variable;
    for (const std::string& layout : layouts)
      if (any(3) != 0) variable.layouts.push_back(layout);
    if (variable.layouts.empty()) variable.layouts = {layouts[any(layouts.size())]};
    for (std::size_t i = 0; i < variable.layouts.size(); ++i) variable.costs.push_back(static_cast<double>(any(4)));
    problem.variables.push_back(variable);
  }
  for (std::size_t v = 0; v + 1 < variables; ++v) {
    LayoutProblem::Value value{static_cast<double>(any(6)), v, {}};
    for (std::size_t r = v + 1; r < variables; ++r)
      if (r == v + 1 || any(3) == 0) value.readers.push_back(r);
    problem.values.push_back(value);
  }
  return problem;
}

}  // namespace

TEST_CASE("the cheapest cut of a small graph") {
  MinCut cut;
  const std::size_t a = cut.add_node(), b = cut.add_node();
  cut.add_edge(MinCut::kSource, a, 3);
  cut.add_edge(MinCut::kSource, b, 2);
  cut.add_edge(a, b, 5);
  cut.add_edge(a, MinCut::kSink, 2);
  cut.add_edge(b, MinCut::kSink, 2.5);
  CHECK(cut.solve() == 4.5);
  CHECK(cut.on_source_side(MinCut::kSource));
  CHECK_FALSE(cut.on_source_side(MinCut::kSink));
  MinCut open;
  open.add_edge(MinCut::kSource, MinCut::kSink, MinCut::kInfinite);
  CHECK(open.solve() == MinCut::kInfinite);
}

TEST_CASE("nodes between two fixed kernels take their layout, and one copy serves all readers") {
  // fixed last -> follower -> fixed last: no copy. The follower alone is cheaper plain, but not if two copies are
  // needed.
  LayoutProblem problem;
  problem.variables = {{{"last"}, {0}}, {{"", "last"}, {0, 1}}, {{"last"}, {0}}};
  problem.values = {{4, 0, {1}}, {4, 1, {2}}};
  CHECK(solve(problem) == LayoutChoice{0, 1, 0});
  CHECK(cost_of(problem, solve(problem)) == 1);
  problem.values = {{0.25, 0, {1}}, {0.25, 1, {2}}};
  CHECK(solve(problem) == LayoutChoice{0, 0, 0});
  // Two readers need it plain: one copy, cost 4, not 8.
  problem.variables = {{{"last"}, {0}}, {{""}, {0}}, {{""}, {0}}};
  problem.values = {{4, 0, {1, 2}}};
  CHECK(cost_of(problem, solve(problem)) == 4);
}

TEST_CASE("two layouts: no choice is cheaper (random problems, compared with all choices)") {
  const auto seed = GENERATE(range(1u, 400u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const LayoutProblem problem = random_problem(random, {"", "last"});
  CHECK(cost_of(problem, solve(problem)) == cost_of(problem, brute_force(problem)));
}

TEST_CASE("several layouts: at most twice the copies of the best choice, and usually the same number") {
  std::mt19937 random(7);
  int best = 0;
  constexpr int kProblems = 300;
  for (int i = 0; i < kProblems; ++i) {
    const LayoutProblem problem = random_problem(random, {"", "last", "blocked"});
    const double ours = cost_of(problem, solve(problem)), least = cost_of(problem, brute_force(problem));
    REQUIRE(ours <= 2 * least + 1e-9);
    best += ours == least ? 1 : 0;
  }
  CHECK(best > kProblems * 9 / 10);
}
