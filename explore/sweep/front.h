// Dominance: finds the points that no other point dominates.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "explore/sweep/space.h"

namespace dovetail::explore {

// The costs of a point, in the order of the objectives; smaller is better.
using Costs = std::vector<double>;

// Whether no cost of `a` is greater, and at least one is smaller.
bool dominates(std::span<const double> a, std::span<const double> b);

// Positions of the points that no other point dominates, sorted by the first cost, then by the next ones. Of equal
// points the first is returned.
std::vector<std::size_t> front_of(std::span<const Costs> points);

// Deb et al. 2002 (NSGA-II), section III: the number of each point's front (0: not dominated; 1: not
// dominated once front 0 is removed; and so on), and its distance from its neighbors there (infinite at the ends).
struct Rank {
  int front = 0;
  double crowding = 0;
};
std::vector<Rank> rank(std::span<const Costs> points);

}  // namespace dovetail::explore
