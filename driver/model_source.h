// Where a command's model comes from: an ONNX file, shapes without a model, or a part of either. Every command and the
// interfaces read their models through this file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/import/onnx.h"
#include "compiler/shapes/layer_text.h"

namespace dovetail::driver {

inline constexpr std::string_view kLayerExample = shapes::kLayerExample;

// Nodes of a model, by name or pattern (* and ?), or the nodes on the ways between tensors.
struct ModelPart {
  std::vector<std::string> only = {};
  std::vector<std::string> from = {}, to = {};  // empty: the model's inputs, its outputs
  bool is_whole() const { return only.empty() && from.empty() && to.empty(); }
};

struct ModelSource {
  // An ONNX file, a SCALE-Sim topology (.csv), or layers of Timeloop or ZigZag (.yaml, .yml). Empty: only `layers`.
  std::string path = {};
  std::vector<std::string> layers = {};  // texts for shapes::parse_layer; only without a path
  ModelPart part = {};

  bool is_onnx_file() const;  // a whole ONNX file
  // For reports: the path, or "conv 64x56x56 -> 64 k3 s1 p1", or "3 layers"; of a part with what selects it.
  std::string title() const;
  // For tables: the title without folder and extension of the file, of which only the part's patterns follow.
  std::string name() const;
  // The options and path that give this source on a command line, quoted for a shell.
  std::string words() const;
};

// The files outside of an ONNX file that hold data of its tensors; none if the file is not a model.
std::set<std::filesystem::path> data_files_of(const std::filesystem::path& model);

// Whether files of this name have shapes without a model.
bool has_shapes(std::string_view path);

// The file's text as ONNX file, for shapes and for parts; nothing: the path is a whole ONNX file. Errors: those of
// reading; a part that selects nothing.
Result<std::optional<std::vector<std::byte>>> content_of(const ModelSource& source);

Result<import::Imported> import_source(const ModelSource& source, import::ImportOptions options);

// The graph's nodes that `part` selects, with what belongs to them: constants, and for integer networks in QDQ form the
// DequantizeLinear before them and what follows up to a QuantizeLinear, so that the part's borders are integers again.
// Its unconnected parts are apart (Graph::apart). `where` names the model. Errors: a name or pattern that no node or
// tensor has; tensors without a way between them.
Result<graph::Graph> select_part(const graph::Graph& graph, const ModelPart& part, const std::string& where);

}  // namespace dovetail::driver
