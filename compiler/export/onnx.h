// Converts a graph to ONNX protobuf: the inverse of compiler/import. The result has the operator set of opset.h and is
// a single file; importing it yields the same graph. (`export` is a keyword of C++, so there is no namespace of that
// name.)
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail {

// Extents of inputs and outputs that the file leaves open: the symbol, which may be empty, by value and axis.
using OpenExtents = std::map<std::string, std::map<std::size_t, std::string>>;

// Nodes are in execution order, unused constants are left out, real attributes are rounded to binary32, the format's
// only precision. Errors, all reported at once: operators that ONNX does not have (for example lower_qdq's), and graphs
// beyond the 2 GiB of a protobuf file. Precondition: the graph verifies and its types are inferred. `where` names the
// graph in diagnostics; `metadata` is written as the model's metadata_props. `open`: whether the nodes allow these
// extents to vary is the caller's concern.
Result<std::vector<std::byte>> export_onnx(const graph::Graph& graph, const std::string& where,
                                           const std::map<std::string, std::string>& metadata = {},
                                           const OpenExtents& open = {});

}  // namespace dovetail
