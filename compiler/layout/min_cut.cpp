#include "compiler/layout/min_cut.h"

#include <algorithm>
#include <queue>

#include "base/check.h"

namespace dovetail {

std::size_t MinCut::add_node() {
  edges_.emplace_back();
  return edges_.size() - 1;
}

void MinCut::add_edge(std::size_t from, std::size_t to, double capacity) {
  DOVETAIL_CHECK(capacity >= 0, "capacities must not be negative");
  if (capacity == 0 || from == to) return;
  edges_[from].push_back({to, edges_[to].size(), capacity});
  edges_[to].push_back({from, edges_[from].size() - 1, 0});
}

bool MinCut::find_levels() {
  level_.assign(edges_.size(), -1);
  level_[kSource] = 0;
  std::queue<std::size_t> open({kSource});
  while (!open.empty()) {
    const std::size_t node = open.front();
    open.pop();
    for (const Edge& edge : edges_[node])
      if (edge.left > 0 && level_[edge.to] < 0) {
        level_[edge.to] = level_[node] + 1;
        open.push(edge.to);
      }
  }
  return level_[kSink] >= 0;
}

double MinCut::push(std::size_t node, double flow) {
  if (node == kSink) return flow;
  for (; next_[node] < edges_[node].size(); ++next_[node]) {
    Edge& edge = edges_[node][next_[node]];
    if (edge.left <= 0 || level_[edge.to] != level_[node] + 1) continue;
    const double pushed = push(edge.to, std::min(flow, edge.left));
    if (pushed <= 0) continue;
    edge.left -= pushed;
    edges_[edge.to][edge.reverse].left += pushed;
    return pushed;
  }
  return 0;
}

double MinCut::solve() {
  double total = 0;
  while (find_levels()) {
    next_.assign(edges_.size(), 0);
    while (const double pushed = push(kSource, kInfinite)) {
      // A path of infinite edges: every cut is infinite.
      if (pushed == kInfinite) return kInfinite;
      total += pushed;
    }
  }
  return total;
}

}  // namespace dovetail
