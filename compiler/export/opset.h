// The lowest operator set whose operators have the forms and element types of a graph, so that a file is read by as
// many programs as possible.
#pragma once

#include <cstdint>

#include "compiler/graph/graph.h"

namespace dovetail {

// From 13 on: older sets have other forms of common operators (axes of Squeeze as an attribute, no scales per channel).
inline constexpr std::int64_t kLowestExportedOpset = 13;

// Precondition: the types of the graph are inferred.
std::int64_t exported_opset(const graph::Graph& graph);

// The IR version of the ONNX release that introduced the operator set, at most 10, that of operator set 21, which
// newer sets do not need (onnx/docs/Versioning.md).
std::int64_t exported_ir_version(std::int64_t opset);

}  // namespace dovetail
