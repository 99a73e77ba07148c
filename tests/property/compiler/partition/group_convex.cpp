// Groups compared with a brute-force check on random graphs: convex, in an executable order, and maximal.
#include "compiler/partition/group_convex.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/catch.h"

using namespace dovetail;

namespace {

using Units = std::vector<std::vector<std::size_t>>;

// reach[a][b]: a path from a to b, of any length above 0, over edges read -> reader.
std::vector<std::vector<bool>> closure(const Units& reads) {
  const std::size_t n = reads.size();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (std::size_t u = 0; u < n; ++u)
    for (const std::size_t producer : reads[u]) reach[producer][u] = true;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n && reach[a][k]; ++b)
        if (reach[k][b]) reach[a][b] = true;
  return reach;
}

// Whether groups, as nodes of a graph, have no cycle: then they can run one after another.
bool runs_in_some_order(const Units& reads, const std::vector<std::size_t>& group_of, std::size_t groups) {
  Units between(groups);
  for (std::size_t u = 0; u < reads.size(); ++u)
    for (const std::size_t producer : reads[u])
      if (group_of[producer] != group_of[u]) between[group_of[u]].push_back(group_of[producer]);
  const auto reach = closure(between);
  for (std::size_t g = 0; g < groups; ++g)
    if (reach[g][g]) return false;
  return true;
}

struct Case {
  Units reads;
  std::vector<std::size_t> colors;
};

Case draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Case c;
  const std::size_t n = 1 + below(18), colors = 1 + below(4), density = 1 + below(4);
  for (std::size_t u = 0; u < n; ++u) {
    std::set<std::size_t> producers;
    for (std::size_t i = 0; u > 0 && i < below(density + 1); ++i) producers.insert(below(u));
    c.reads.emplace_back(producers.begin(), producers.end());
    c.colors.push_back(below(colors));
  }
  // Numbers need not follow the order of execution.
  std::vector<std::size_t> name(n);
  for (std::size_t u = 0; u < n; ++u) name[u] = u;
  std::shuffle(name.begin(), name.end(), random);
  Case shuffled{Units(n), std::vector<std::size_t>(n)};
  for (std::size_t u = 0; u < n; ++u) {
    shuffled.colors[name[u]] = c.colors[u];
    for (const std::size_t producer : c.reads[u]) shuffled.reads[name[u]].push_back(name[producer]);
  }
  return shuffled;
}

// Describes the violated property; empty: none.
std::string wrong(const Case& c, const Units& groups) {
  const std::size_t n = c.reads.size();
  std::vector<std::size_t> group_of(n, n), position(n, 0);
  std::size_t count = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) return fmt::format("group {} is empty", g);
    for (const std::size_t u : groups[g]) {
      if (u >= n || group_of[u] != n) return fmt::format("unit {} is none, or there twice", u);
      if (c.colors[u] != c.colors[groups[g].front()]) return fmt::format("group {} has two colors", g);
      group_of[u] = g;
      position[u] = count++;
    }
  }
  if (count != n) return "a unit is missing";
  for (std::size_t u = 0; u < n; ++u)
    for (const std::size_t producer : c.reads[u])
      if (position[producer] >= position[u]) return fmt::format("{} runs before {}, from which it reads", u, producer);
  const auto reach = closure(c.reads);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t through = 0; through < n; ++through)
        if (group_of[a] == group_of[b] && group_of[through] != group_of[a] && reach[a][through] && reach[through][b])
          return fmt::format("a path from {} to {} leaves their group at {}", a, b, through);
  for (std::size_t a = 0; a < groups.size(); ++a)
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      if (c.colors[groups[a][0]] != c.colors[groups[b][0]]) continue;
      std::vector<std::size_t> joined = group_of;
      for (std::size_t& g : joined)
        if (g == b) g = a;
      if (runs_in_some_order(c.reads, joined, groups.size())) return fmt::format("groups {} and {} could be one", a, b);
    }
  return "";
}

}  // namespace

TEST_CASE("groups of random graphs are convex, in an executable order, and maximal") {
  std::size_t several = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Case c = draw(seed);
    const Units groups = group_convex(c.reads, c.colors);
    const std::string problem = wrong(c, groups);
    if (!problem.empty()) {
      UNSCOPED_INFO("seed " << seed << "\nreads " << fmt::format("{}", c.reads) << "\ncolors "
                            << fmt::format("{}", c.colors) << "\ngroups " << fmt::format("{}", groups));
      FAIL(problem);
    }
    several += groups.size() > std::set<std::size_t>(c.colors.begin(), c.colors.end()).size();
  }
  CHECK(several > 500);  // graphs in which a color needs more than one group
}

TEST_CASE("groups that an order of execution separates are joined") {
  // 0 and 3 have one color, and 3 reads from 2 of another color, which does not depend on 0.
  CHECK(group_convex({{}, {0}, {}, {2}}, {0, 0, 1, 0}).size() == 2);
  // Here 2 is between 0 and 3.
  CHECK(group_convex({{}, {0}, {1}, {2}}, {0, 0, 1, 0}).size() == 3);
  // Two groups that read from each other: both would be convex, but neither could run first.
  CHECK(group_convex({{}, {0}, {}, {2}}, {0, 1, 1, 0}).size() == 3);
  CHECK(group_convex({}, {}).empty());
}
