#include "compiler/import/onnx.h"

#include <algorithm>
#include <climits>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/expected_file.h"
#include "base/file.h"
#include "base/onnx_types.h"
#include "base/printable.h"
#include "compiler/import/infer_types.h"
#include "compiler/import/inline_functions.h"
#include "compiler/import/messages.h"
#include "compiler/import/narrow_types.h"
#include "compiler/import/read_graph.h"
#include "compiler/import/tensor_proto.h"
#include "compiler/import/wire.h"

namespace dovetail::import {
namespace {

Result<void> check_size(std::uintmax_t bytes, const std::string& where) {
  if (bytes <= static_cast<std::uintmax_t>(INT_MAX)) return {};
  return Diagnostic{"cannot import the model", where,
                    fmt::format("the file has {} bytes > {}, the limit of a protobuf file", bytes, INT_MAX),
                    "export the weights as external data"};
}

Result<void> parse(std::span<const std::byte> bytes, const std::string& where, onnx::Model& model) {
  DOVETAIL_TRY(check_size(bytes.size(), where));
  if (!onnx::read(bytes, model))
    return Diagnostic{"cannot import the model", where,
                      fmt::format("the {} bytes are not a serialized ONNX model", bytes.size()),
                      "the file is damaged or truncated, or in another format"};
  return {};
}

// Compares the file's output types with the inferred ones. Shapes in files are often stale; element types are not.
void check_outputs(const onnx::Graph& proto, const std::string& where, Imported& imported, Diagnostics& findings) {
  std::set<std::string> seen;
  for (const onnx::ValueInfo& output : proto.outputs) {
    if (!seen.insert(output.name).second) continue;  // the graph has it once
    const onnx::TensorType& declared = output.tensor_type();
    const graph::Value& value = imported.graph.value(imported.graph.outputs[seen.size() - 1]);
    const auto dtype = held_dtype(declared.elem_type);
    if (declared.elem_type != 0 && dtype != value.type.dtype)
      findings.push_back({"cannot import the model", where + ", output " + value.name,
                          fmt::format("the file declares {}, but its operators return {}",
                                      onnx_type_name(declared.elem_type), name(value.type.dtype)),
                          "export the model again"});
    if (!declared.shape) continue;
    const std::vector<onnx::Dimension>& dims = output.dims();
    bool differs = dims.size() != value.type.shape.size();
    for (std::size_t axis = 0; !differs && axis < dims.size(); ++axis)
      differs = dims[axis].value.value_or(0) > 0 && dims[axis].value != value.type.shape[axis];
    const bool open = std::ranges::find(imported.graph.extents, value.name, &graph::OutputExtent::output) !=
                      imported.graph.extents.end();
    if (differs && !open)
      imported.report.notes.push_back(
          fmt::format("output {}: the file declares another shape than {}, which was inferred", value.name,
                      to_string(value.type.shape)));
  }
}

Result<Imported> import_model(onnx::Model& model, const std::string& where, const ImportOptions& options) {
  DOVETAIL_TRY(inline_functions(model, where));
  keep_narrow_results(model);
  ControlFlow flow{ExternalData(options.external_data_folder), options.loop_limit};
  DOVETAIL_ASSIGN(Imported imported, read_graph(model, where, options, flow));
  DOVETAIL_TRY(infer_types(imported, options, where, passes::interpreter_evaluate(), flow));
  Diagnostics findings;
  check_outputs(*model.graph, where, imported, findings);
  if (!findings.empty()) return findings;
  imported.graph.compact();
  imported.report.data_files = flow.external().files();
  const auto parts = imported.report.metadata.find(kApartKey);
  imported.graph.apart = parts != imported.report.metadata.end() && parts->second == kApart;
  if (auto verified = graph::verify(imported.graph); !verified)
    throw InternalError(to_string(verified.errors()) + to_string(imported.graph));
  return imported;
}

}  // namespace

Result<Imported> import_onnx(std::span<const std::byte> bytes, std::string_view source, const ImportOptions& options) {
  const std::string where(source);
  onnx::Model model;
  DOVETAIL_TRY(parse(bytes, where, model));
  return import_model(model, where, options);
}

Result<std::vector<std::byte>> read_onnx_file(const std::filesystem::path& path) {
  // Checked before reading, if known: the size of a pipe is not, so reading stops at the limit.
  std::error_code unknown;
  if (const auto size = std::filesystem::file_size(path, unknown); !unknown)
    DOVETAIL_TRY(check_size(size, path.string()));
  return read_file(path, INT_MAX, {"an ONNX model", onnx::may_begin_message});
}

namespace {

// The bytes of a file, which its model refers to.
Result<std::vector<std::byte>> read_model(const std::filesystem::path& path, onnx::Model& model) {
  DOVETAIL_ASSIGN(std::vector<std::byte> bytes, read_onnx_file(path));
  DOVETAIL_TRY(parse(bytes, path.string(), model));
  return bytes;
}

}  // namespace

Result<OnnxNames> onnx_names(const std::filesystem::path& path) {
  onnx::Model model;
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_model(path, model));
  OnnxNames names;
  if (!model.graph) return names;
  for (const onnx::ValueInfo& input : model.graph->inputs) names.inputs.push_back(printable(input.name));
  for (const onnx::ValueInfo& output : model.graph->outputs) names.outputs.push_back(printable(output.name));
  for (const onnx::Node& node : model.graph->nodes) names.operators.insert(printable(node.op_type));
  return names;
}

namespace {

// A type as text, for example "float32[batch, 3]", with the model's symbolic names for unknown extents.
std::string declared_type(const onnx::Type& type, OnnxOutline* symbols) {
  if (!type.tensor_type) return "not a tensor";
  const onnx::TensorType& tensor = *type.tensor_type;
  const auto dtype = dtype_from_onnx(tensor.elem_type);
  std::string text(dtype ? name(*dtype) : onnx_type_name(tensor.elem_type));
  if (!tensor.shape) {
    if (symbols != nullptr) symbols->has_open_extents = true;
    return text;
  }
  text += "[";
  for (const onnx::Dimension& dimension : tensor.shape->dims) {
    const std::string symbol = printable(dimension.param);
    const bool known = symbol.empty() && dimension.value.value_or(-1) >= 0;
    if (!known && symbols != nullptr) {
      symbols->has_open_extents = true;
      if (!symbol.empty()) symbols->symbols.insert(symbol);
    }
    text += fmt::format("{}{}", text.ends_with('[') ? "" : ", ",
                        known            ? fmt::format("{}", *dimension.value)
                        : symbol.empty() ? "?"
                                         : symbol);
  }
  return text + "]";
}

}  // namespace

Result<OnnxOutline> outline_onnx(std::span<const std::byte> bytes, std::string_view where) {
  onnx::Model model;
  DOVETAIL_TRY(parse(bytes, std::string(where), model));
  const onnx::Graph none;
  const onnx::Graph& graph = model.graph ? *model.graph : none;
  OnnxOutline outline;
  outline.graph = printable(graph.name);
  outline.producer = printable(model.producer_name);
  if (!model.producer_version.empty()) outline.producer += " " + printable(model.producer_version);
  outline.ir_version = model.ir_version;
  for (const auto& set : model.opset_imports)
    if (set.domain.empty() || set.domain == "ai.onnx") outline.opset = set.version;
  std::set<std::string> constants;  // older files also list them as inputs
  for (const onnx::Tensor& tensor : graph.initializers) constants.insert(tensor.name);
  for (const onnx::ValueInfo& input : graph.inputs)
    if (!constants.contains(input.name))
      outline.inputs.push_back({printable(input.name), declared_type(input.type, &outline)});
  for (const onnx::ValueInfo& output : graph.outputs)
    outline.outputs.push_back({printable(output.name), declared_type(output.type, nullptr)});
  for (const onnx::Node& node : graph.nodes) ++outline.operators[printable(node.op_type)];
  return outline;
}

Result<Imported> import_onnx_file(const std::filesystem::path& path, ImportOptions options) {
  if (options.external_data_folder.empty()) options.external_data_folder = external_data_folder(path);
  onnx::Model model;
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_model(path, model));
  return import_model(model, path.string(), options);
}

std::filesystem::path external_data_folder(const std::filesystem::path& path) {
  if (path.parent_path() == "/proc/self/fd") return {};
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace dovetail::import
