// Graphs as files of older operator sets: the mirror of compiler/import/normalize.h. It is written for itself, from the
// changelog of ONNX's operators, so that import is compared with something that is not its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail::test {

// The file in the forms of `opset`; empty where the graph needs something newer. Precondition: the graph can be
// exported.
std::optional<std::vector<std::byte>> file_of_opset(const graph::Graph& graph, std::int64_t opset);

}  // namespace dovetail::test
