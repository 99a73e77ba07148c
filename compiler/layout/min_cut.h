// Minimum cuts of small graphs with real capacities.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace dovetail {

class MinCut {
 public:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();
  static constexpr std::size_t kSource = 0, kSink = 1;

  std::size_t add_node();
  // `capacity` is cut if `from` is on the source side and `to` on the sink side. Precondition: not negative.
  void add_edge(std::size_t from, std::size_t to, double capacity);

  // Capacity of the cheapest cut; kInfinite if every cut is infinite (Dinic's algorithm).
  double solve();
  // After solve: whether the node is on the source side of the minimum cut with the smallest source side.
  bool on_source_side(std::size_t node) const { return level_[node] >= 0; }

 private:
  struct Edge {
    std::size_t to, reverse;  // reverse: position of the opposite edge at `to`
    double left;
  };
  bool find_levels();
  double push(std::size_t node, double flow);

  std::vector<std::vector<Edge>> edges_ = std::vector<std::vector<Edge>>(2);
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace dovetail
