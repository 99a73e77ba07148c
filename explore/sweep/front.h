// Dominance: which points no other one beats.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "explore/sweep/space.h"

namespace dovetail::explore {

// Of one point, in the order of the objectives that count; all are to be small.
using Costs = std::vector<double>;

// No cost of `a` is greater, and one is smaller.
bool dominates(std::span<const double> a, std::span<const double> b);

// Positions of those that no other one dominates, by the first cost and then the next ones; of equal ones the first.
std::vector<std::size_t> front_of(std::span<const Costs> points);

// Deb et al. 2002 (NSGA-II), section III: the number of the front of each point once those before are taken away, from
// 0 on, and how far it is from its neighbors there (infinite at the ends).
struct Rank {
  int front = 0;
  double crowding = 0;
};
std::vector<Rank> rank(std::span<const Costs> points);

}  // namespace dovetail::explore
