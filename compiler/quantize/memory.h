// How much memory the runs of a graph take, before it is compiled, and how to work on its tensors within a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::quantize {

// The memory that the process may take, and the part of it that runs cannot use: the kit, the model, the samples, and
// what compiling a graph takes.
struct MemoryBudget {
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max(), used = 0;
};

// Bytes of the tensors that exist at once if the nodes run one after another: at most. Outputs of the graph and `kept`
// exist until the end; constants are not included.
std::uint64_t peak_bytes(const graph::Graph& graph, std::span<const graph::ValueId> kept);

// Neighbors [begin, end).
struct Range {
  std::size_t begin = 0, end = 0;
};

// 0 to `count` in as few ranges of neighbors as the budget allows. `bytes_of`: the memory for a range, which does not
// grow when the range shrinks. Error: a single element exceeds the budget; `what` names the work.
Result<std::vector<Range>> ranges_within(const MemoryBudget& budget, std::size_t count,
                                         const std::function<std::uint64_t(Range)>& bytes_of, const std::string& model,
                                         const std::string& what);

}  // namespace dovetail::quantize
