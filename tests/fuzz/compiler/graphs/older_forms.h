// Graphs as files of older operator sets: the inverse of compiler/import/normalize.h. Written separately, from the
// changelog of ONNX's operators, so that import is compared with independent code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace dovetail::test {

// The file in the forms of `opset`; empty where the graph needs a newer one. Precondition: the graph can be exported.
std::optional<std::vector<std::byte>> file_of_opset(const graph::Graph& graph, std::int64_t opset);

}  // namespace dovetail::test
