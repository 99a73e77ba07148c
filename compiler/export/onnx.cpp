#include "compiler/export/onnx.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/export/opset.h"
#include "compiler/import/attributes.h"
#include "compiler/import/onnx.pb.h"
#include "compiler/ops/op.h"

namespace dovetail {
namespace {

using graph::ValueId;
using import::AttributeKind;

void write_tensor(const NdArray& array, onnx::Tensor& tensor) {
  for (std::int64_t extent : array.shape()) tensor.add_dims(extent);
  tensor.set_data_type(info(array.dtype()).onnx);
  tensor.set_raw_data(array.bytes().data(), array.bytes().size());
}

struct WriteAttribute {
  onnx::Attribute& to;

  void operator()(std::int64_t value) const { to.set_type(AttributeKind::int_kind), to.set_i(value); }
  void operator()(double value) const { to.set_type(AttributeKind::float_kind), to.set_f(static_cast<float>(value)); }
  void operator()(const std::string& value) const { to.set_type(AttributeKind::string_kind), to.set_s(value); }
  void operator()(const NdArray& value) const {
    to.set_type(AttributeKind::tensor_kind), write_tensor(value, *to.mutable_t());
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.set_type(AttributeKind::ints_kind);
    for (std::int64_t value : values) to.add_ints(value);
  }
  void operator()(const std::vector<double>& values) const {
    to.set_type(AttributeKind::floats_kind);
    for (double value : values) to.add_floats(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) const {
    to.set_type(AttributeKind::strings_kind);
    for (const std::string& value : values) to.add_strings(value);
  }
};

void write_node(const graph::Graph& graph, const graph::Node& node, onnx::Node& to) {
  for (ValueId id : node.inputs) to.add_input(id.valid() ? graph.value(id).name : "");
  for (ValueId id : node.outputs) to.add_output(id.valid() ? graph.value(id).name : "");
  to.set_name(node.name);
  to.set_op_type(node.op);
  for (const auto& [name, value] : node.attributes) {
    onnx::Attribute& attribute = *to.add_attribute();
    attribute.set_name(name);
    std::visit(WriteAttribute{attribute}, value);
  }
}

void write_value(const graph::Value& value, onnx::ValueInfo& to) {
  to.set_name(value.name);
  onnx::TensorTypeInfo& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(info(value.type.dtype).onnx);
  type.mutable_shape();  // present even for scalars: absent, it would mean "unknown"
  for (std::int64_t extent : value.type.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
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
                        "export the graph as it was imported, before lower_qdq"});
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
                                           const std::map<std::string, std::string>& metadata) {
  if (Diagnostics findings = foreign_operators(graph, where); !findings.empty()) return findings;
  const std::set<ValueId> constants = used_constants(graph);
  std::size_t bytes = 0;
  for (ValueId id : constants) bytes += graph.value(id).constant->bytes().size() + kOverheadBytes;
  if (bytes > static_cast<std::size_t>(INT_MAX))
    return Diagnostic{"cannot export to ONNX", where,
                      fmt::format("{} bytes of constants > {}, the limit of a protobuf file", bytes, INT_MAX),
                      "export a smaller model; external data is not written"};

  onnx::Model model;
  const std::int64_t opset = exported_opset(graph);
  model.set_ir_version(exported_ir_version(opset));
  model.set_producer_name("dovetail");
  model.add_opset_import()->set_version(opset);
  for (const auto& [key, value] : metadata) {
    onnx::KeyValue& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::Graph& to = *model.mutable_graph();
  to.set_name(graph.name.empty() ? "graph" : graph.name);
  for (graph::NodeId id : graph.topological_order()) write_node(graph, graph.node(id), *to.add_node());
  for (ValueId id : constants) {
    onnx::Tensor& tensor = *to.add_initializer();
    tensor.set_name(graph.value(id).name);
    write_tensor(*graph.value(id).constant, tensor);
  }
  for (ValueId id : graph.inputs) write_value(graph.value(id), *to.add_input());
  for (ValueId id : graph.outputs) write_value(graph.value(id), *to.add_output());

  const std::size_t size = model.ByteSizeLong();
  if (size > static_cast<std::size_t>(INT_MAX))
    return Diagnostic{"cannot export to ONNX", where,
                      fmt::format("{} bytes > {}, the limit of a protobuf file", size, INT_MAX),
                      "export a smaller model"};
  std::vector<std::byte> file(size);
  DOVETAIL_CHECK(model.SerializeToArray(file.data(), static_cast<int>(size)), "the ONNX model must serialize");
  return file;
}

}  // namespace dovetail
