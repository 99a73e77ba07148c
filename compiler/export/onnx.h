// Converts a graph to ONNX protobuf: the inverse of compiler/import. The result uses operators in the newest form that
// the importer supports and is a single file; importing it yields the same graph. (`export` is a keyword of C++, so
// there is no namespace of that name.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail {

// IR version of the files: that of the release that introduced operator set 21 (onnx/docs/Versioning.md).
inline constexpr std::int64_t kExportedIrVersion = 10;

// The operator set of a graph's file: 21, which has the forms of the graph's operators, or, for newer operators, the
// set that introduced the newest of them.
std::int64_t exported_opset(const graph::Graph& graph);

// Nodes are in execution order, unused constants are left out, real attributes are rounded to binary32, the format's
// only precision. Errors, all reported at once: operators that ONNX does not have (for example lower_qdq's), and graphs
// beyond the 2 GiB of a protobuf file. Precondition: the graph verifies and its types are inferred. `where` names the
// graph in diagnostics; `metadata` is written as the model's metadata_props.
Result<std::vector<std::byte>> export_onnx(const graph::Graph& graph, const std::string& where,
                                           const std::map<std::string, std::string>& metadata = {});

}  // namespace dovetail
