// Graph to ONNX protobuf: the mirror of compiler/import. What it writes has operators in the newest form of the
// importer and holds everything inside the one file; read again, it yields the same graph. (`export` is a word of C++,
// hence no namespace of that name.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail {

// IR version of the files: that of the release which brought operator set 21 (onnx/docs/Versioning.md).
inline constexpr std::int64_t kExportedIrVersion = 10;

// The operator set of a graph's file: 21, whose forms are those of the operators that it has, or where the graph has
// newer operators the set that brought the newest of them.
std::int64_t exported_opset(const graph::Graph& graph);

// Nodes come in execution order, constants that nothing uses are left out, real attributes are rounded to binary32,
// which is all that the format holds. Refused, all of it at once: operators that ONNX does not have (lower_qdq's, say),
// and graphs beyond the 2 GiB of a protobuf file. Precondition: the graph verifies and its types are inferred. `where`
// names the graph in diagnostics; `metadata` is written as the model's metadata_props.
Result<std::vector<std::byte>> export_onnx(const graph::Graph& graph, const std::string& where,
                                           const std::map<std::string, std::string>& metadata = {});

}  // namespace dovetail
