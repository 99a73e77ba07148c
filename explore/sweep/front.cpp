#include "explore/sweep/front.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dovetail::explore {

bool dominates(std::span<const double> a, std::span<const double> b) {
  bool smaller = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    smaller = smaller || a[i] < b[i];
  }
  return smaller;
}

std::vector<std::size_t> front_of(std::span<const Costs> points) {
  // Sorted by costs, so that a point comes after all points that dominate it.
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<std::size_t> front;
  for (const std::size_t candidate : order) {
    const bool beaten = std::ranges::any_of(front, [&](std::size_t other) {
      return points[other] == points[candidate] || dominates(points[other], points[candidate]);
    });
    if (!beaten) front.push_back(candidate);
  }
  return front;
}

std::vector<Rank> rank(std::span<const Costs> points) {
  std::vector<Rank> ranks(points.size());
  std::vector<std::size_t> left(points.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (int number = 0; !left.empty(); ++number) {
    std::vector<std::size_t> front, rest;
    for (const std::size_t point : left) {
      const bool beaten =
          std::ranges::any_of(left, [&](std::size_t other) { return dominates(points[other], points[point]); });
      (beaten ? rest : front).push_back(point);
    }
    for (const std::size_t point : front) ranks[point].front = number;
    for (std::size_t axis = 0; axis < points[front.front()].size(); ++axis) {
      std::ranges::sort(front, [&](std::size_t a, std::size_t b) {
        return points[a][axis] != points[b][axis] ? points[a][axis] < points[b][axis] : a < b;
      });
      const double range = points[front.back()][axis] - points[front.front()][axis];
      ranks[front.front()].crowding = ranks[front.back()].crowding = std::numeric_limits<double>::infinity();
      for (std::size_t i = 1; i + 1 < front.size() && range > 0; ++i)
        ranks[front[i]].crowding += (points[front[i + 1]][axis] - points[front[i - 1]][axis]) / range;
    }
    left = std::move(rest);
  }
  return ranks;
}

}  // namespace dovetail::explore
