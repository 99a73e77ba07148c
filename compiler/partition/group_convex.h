// Maximal groups of one color in an acyclic graph: the algorithm used by partition.
#pragma once

#include <cstddef>
#include <vector>

namespace dovetail {

// `reads[u]`: the units that u reads from; acyclic. `colors[u]`: only units of one color may share a group. Result:
// groups in an order in which they can run, likewise the units within a group; each unit once. Every group is convex
// (no path between two of its units leaves it), and no two groups of one color could be merged without creating a
// cycle.
std::vector<std::vector<std::size_t>> group_convex(const std::vector<std::vector<std::size_t>>& reads,
                                                   const std::vector<std::size_t>& colors);

}  // namespace dovetail
