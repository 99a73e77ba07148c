// Maximal groups of one color in an acyclic graph: the algorithm behind partition.
#pragma once

#include <cstddef>
#include <vector>

namespace dovetail {

// `reads[u]`: the units that u reads from; acyclic. `colors[u]`: only units of one color may share a group.
// Result: groups in an order in which they can run, units within a group likewise; every unit once. Every group is
// convex (no path between two of its units leaves it), and no two groups of one color could be one without closing a
// circle.
std::vector<std::vector<std::size_t>> group_convex(const std::vector<std::vector<std::size_t>>& reads,
                                                   const std::vector<std::size_t>& colors);

}  // namespace dovetail
