// Estimates the memory of running a graph before it is compiled, and divides work on its tensors into parts that fit a
// memory limit.
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
// the memory for compiling a graph.
struct MemoryBudget {
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max(), used = 0;
};

// The maximum of the bytes of all tensors that are live at the same time, if the nodes run one after another. Outputs
// of the graph and `kept` are live until the end; constants are not included.
std::uint64_t peak_bytes(const graph::Graph& graph, std::span<const graph::ValueId> kept);

// Neighbors [begin, end).
struct Range {
  std::size_t begin = 0, end = 0;
};

// Divides [0, count) into as few ranges as the budget allows. `bytes_of`: the memory for a range, which must not grow
// when the range shrinks. Error: a single element exceeds the budget; `what` names the work.
Result<std::vector<Range>> ranges_within(const MemoryBudget& budget, std::size_t count,
                                         const std::function<std::uint64_t(Range)>& bytes_of, const std::string& model,
                                         const std::string& what);

}  // namespace dovetail::quantize
