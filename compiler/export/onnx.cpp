#include "compiler/export/onnx.h"

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/export/opset.h"
#include "compiler/import/attributes.h"
#include "compiler/import/messages.h"
#include "compiler/import/onnx.h"
#include "compiler/import/wire.h"
#include "compiler/ops/control_flow.h"
#include "compiler/ops/op.h"
#include "compiler/ops/recurrent.h"

namespace dovetail {
namespace {

using graph::ValueId;
using import::AttributeKind;

void write_tensor(const NdArray& array, onnx::Tensor& tensor) {
  tensor.dims = array.shape();
  tensor.data_type = info(array.dtype()).onnx;
  tensor.raw_data.emplace(reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size());
}

struct WriteAttribute {
  onnx::Attribute& to;

  void operator()(std::int64_t value) const { to.type = AttributeKind::int_kind, to.i = value; }
  void operator()(double value) const { to.type = AttributeKind::float_kind, to.f = static_cast<float>(value); }
  void operator()(const std::string& value) const { to.type = AttributeKind::string_kind, to.s = value; }
  void operator()(const NdArray& value) const {
    to.type = AttributeKind::tensor_kind, write_tensor(value, to.t.ensure());
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.type = AttributeKind::ints_kind, to.ints = values;
  }
  void operator()(const std::vector<double>& values) const {
    to.type = AttributeKind::floats_kind;
    for (double value : values) to.floats.push_back(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) const {
    to.type = AttributeKind::strings_kind, to.strings = values;
  }
};

void write_node(const graph::Graph& graph, const graph::Node& node, onnx::Node& to) {
  for (ValueId id : node.inputs) to.inputs.push_back(id.valid() ? graph.value(id).name : "");
  for (ValueId id : node.outputs) to.outputs.push_back(id.valid() ? graph.value(id).name : "");
  to.name = node.name;
  to.op_type = node.op;
  for (const auto& [name, value] : node.attributes) {
    onnx::Attribute& attribute = to.attributes.emplace_back();
    attribute.name = name;
    std::visit(WriteAttribute{attribute}, value);
  }
}

void write_value(const graph::Value& value, const OpenExtents& open, onnx::ValueInfo& to) {
  to.name = value.name;
  onnx::TensorType& type = to.type.tensor_type.emplace();
  type.elem_type = info(value.type.dtype).onnx;
  type.shape.emplace();  // present even for scalars: absent, it would mean "unknown"
  for (std::int64_t extent : value.type.shape) type.shape->dims.push_back({extent, ""});
  const auto extents = open.find(value.name);
  if (extents == open.end()) return;
  for (const auto& [axis, symbol] : extents->second) type.shape->dims.at(axis) = {std::nullopt, symbol};
}

// What the user of an operator that ONNX lacks can do.
std::string remedy(std::string_view op) {
  if (ops::quantizes_state(op))
    return "the model was quantized already (DynamicQuantizeLSTM): compile it as it is, or quantize the float model "
           "that "
           "it was made from";
  if (op == ops::kIf || op == ops::kLoop)
    return "branches and loops that depend on data cannot be written back: compile the model as it is, or quantize the "
           "part before or after them as a separate model";
  if (op == "dovetail.packed_gemm")
    return "ONNX has no float zero points of weights in blocks (MatMulNBits): compile the model as it is, or export it "
           "with integer zero points";
  return "export the graph as it was imported, before lower_qdq";
}

// Operators that ONNX lacks, each with its first node and the number of its nodes.
Diagnostics foreign_operators(const graph::Graph& graph, const std::string& where) {
  struct Use {
    std::string first;
    int count = 0;
  };
  std::map<std::string, Use> foreign;
  for (graph::NodeId id : graph.live_nodes()) {
    const graph::Node& node = graph.node(id);
    if (ops::find(node.op) != nullptr && node.op.find('.') == std::string::npos) continue;
    Use& use = foreign[node.op];
    if (use.count++ == 0) use.first = node.name;
  }
  Diagnostics findings;
  for (const auto& [op, use] : foreign)
    findings.push_back({"cannot export to ONNX", fmt::format("{}, node {}", where, use.first),
                        fmt::format("ONNX has no operator {}, which {} node{} need{}", op, use.count,
                                    use.count == 1 ? "" : "s", use.count == 1 ? "s" : ""),
                        remedy(op)});
  return findings;
}

// In the order of the graph's values, so that equal graphs give equal files.
std::set<ValueId> used_constants(const graph::Graph& graph) {
  std::set<ValueId> used;
  const auto use = [&](const std::vector<ValueId>& values) {
    for (ValueId id : values)
      if (graph.is_constant(id)) used.insert(id);
  };
  for (graph::NodeId id : graph.live_nodes()) use(graph.node(id).inputs);
  use(graph.outputs);
  return used;
}

// A conservative estimate of the headers and names of one tensor or node in addition to the data, checked before
// anything large is copied.
constexpr std::size_t kOverheadBytes = 4096;

}  // namespace

Result<std::vector<std::byte>> export_onnx(const graph::Graph& graph, const std::string& where,
                                           const std::map<std::string, std::string>& metadata,
                                           const OpenExtents& open) {
  if (Diagnostics findings = foreign_operators(graph, where); !findings.empty()) return findings;
  const std::set<ValueId> constants = used_constants(graph);
  std::size_t bytes = 0;
  for (ValueId id : constants) bytes += graph.value(id).constant->bytes().size() + kOverheadBytes;
  if (bytes > static_cast<std::size_t>(INT_MAX))
    return Diagnostic{"cannot export to ONNX", where,
                      fmt::format("the constants have {} bytes > {}, the limit of a protobuf file", bytes, INT_MAX),
                      "export a smaller model; external data is not written"};

  onnx::Model model;
  const std::int64_t opset = exported_opset(graph);
  model.ir_version = exported_ir_version(opset);
  model.producer_name = "dovetail";
  model.opset_imports.push_back({"", opset});
  for (const auto& [key, value] : metadata) model.metadata_props.push_back({key, value});
  if (graph.apart) model.metadata_props.push_back({import::kApartKey, import::kApart});
  onnx::Graph& to = model.graph.emplace();
  to.name = graph.name.empty() ? "graph" : graph.name;
  for (graph::NodeId id : graph.topological_order()) write_node(graph, graph.node(id), to.nodes.emplace_back());
  for (ValueId id : constants) {
    onnx::Tensor& tensor = to.initializers.emplace_back();
    tensor.name = graph.value(id).name;
    write_tensor(*graph.value(id).constant, tensor);
  }
  for (ValueId id : graph.inputs) write_value(graph.value(id), open, to.inputs.emplace_back());
  for (ValueId id : graph.outputs) write_value(graph.value(id), open, to.outputs.emplace_back());

  const std::size_t size = onnx::written_bytes(model);
  if (size > static_cast<std::size_t>(INT_MAX))
    return Diagnostic{"cannot export to ONNX", where,
                      fmt::format("the model has {} bytes > {}, the limit of a protobuf file", size, INT_MAX),
                      "export a smaller model"};
  return onnx::write(model);
}

}  // namespace dovetail
