#include "tests/fuzz/compiler/graphs/older_forms.h"

#include <string_view>

#include "compiler/export/onnx.h"
#include "tests/fuzz/compiler/import/message_tree.h"

namespace dovetail::test {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

const NdArray* constant(const Graph& graph, const graph::Node& node, std::size_t input) {
  if (input >= node.inputs.size() || !graph.is_constant(node.inputs[input])) return nullptr;
  return &*graph.value(node.inputs[input]).constant;
}
bool has(const graph::Node& node, std::size_t input) {
  return input < node.inputs.size() && node.inputs[input].valid();
}
void drop_input(Graph& graph, NodeId id, std::size_t input) {
  const graph::NodeEdit node = graph.edit(id);
  node->inputs[input] = ValueId{};
  while (!node->inputs.empty() && !node->inputs.back().valid()) node->inputs.pop_back();
}

// Converts the input to the attribute `name`; false where it is computed. Does nothing where it is absent.
bool ints_to_attribute(Graph& graph, NodeId id, std::size_t input, const char* name) {
  if (!has(graph.node(id), input)) return true;
  const NdArray* array = constant(graph, graph.node(id), input);
  if (array == nullptr) return false;
  Ints values;
  for (std::int64_t i = 0; i < array->count(); ++i) values.push_back(array->as_int64(i));
  graph.edit(id)->attributes[name] = values;
  drop_input(graph, id, input);
  return true;
}
bool number_to_attribute(Graph& graph, NodeId id, std::size_t input, const char* name) {
  if (!has(graph.node(id), input)) return true;
  const NdArray* array = constant(graph, graph.node(id), input);
  if (array == nullptr || array->dtype() != DType::float32 || array->count() != 1) return false;
  graph.edit(id)->attributes[name] = array->as_double(0);
  drop_input(graph, id, input);
  return true;
}

// A rule converts a node to the form before opset `before`; false: there is none.
using Rule = bool (*)(Graph&, NodeId);

bool axes(Graph& graph, NodeId id) {
  if (graph::int_attribute(graph.node(id), "noop_with_empty_axes", 0) != 0) return false;
  // Absent axes meant every axis, and an empty list meant none.
  if (const NdArray* array = constant(graph, graph.node(id), 1); array != nullptr && array->count() == 0) return false;
  graph.edit(id)->attributes.erase("noop_with_empty_axes");
  return ints_to_attribute(graph, id, 1, "axes");
}
bool clip(Graph& graph, NodeId id) {
  return graph.value(graph.node(id).inputs[0]).type.dtype == DType::float32 &&
         number_to_attribute(graph, id, 1, "min") && number_to_attribute(graph, id, 2, "max");
}
bool pad_with_inputs(Graph& graph, NodeId id) { return !has(graph.node(id), 3); }
bool pad(Graph& graph, NodeId id) {
  return number_to_attribute(graph, id, 2, "value") && ints_to_attribute(graph, id, 1, "pads");
}
bool slice(Graph& graph, NodeId id) {
  if (has(graph.node(id), 4)) return false;
  return ints_to_attribute(graph, id, 3, "axes") && ints_to_attribute(graph, id, 2, "ends") &&
         ints_to_attribute(graph, id, 1, "starts");
}
bool split_count(Graph& graph, NodeId id) {
  // num_outputs that does not divide the extent gave a smaller last part; earlier opsets only had equal parts.
  const graph::Node& node = graph.node(id);
  if (!has(node, 1)) {
    const Shape& first = graph.value(node.outputs.front()).type.shape;
    if (graph.value(node.outputs.back()).type.shape != first) return false;
  }
  graph.edit(id)->attributes.erase("num_outputs");
  return true;
}
bool split_sizes(Graph& graph, NodeId id) { return ints_to_attribute(graph, id, 1, "split"); }
// Earlier opsets had one axis, with the default 1: the matrix form is written only where both mean the same.
bool last_axis(Graph& graph, NodeId id) {
  const auto rank = static_cast<std::int64_t>(graph.value(graph.node(id).inputs[0]).type.shape.size());
  const std::int64_t axis = graph::int_attribute(graph.node(id), "axis", -1);
  if (rank == 0 || (axis != -1 && axis != rank - 1)) return false;
  graph.edit(id)->attributes["axis"] = rank - 1;
  return true;
}
bool without_attributes(Graph& graph, NodeId id) { return graph.node(id).attributes.empty(); }
bool gemm(Graph& graph, NodeId id) { return has(graph.node(id), 2); }
bool impossible(Graph&, NodeId) { return false; }

// Modes had other names, with the same default.
bool grid_sample(Graph& graph, NodeId id) {
  const std::string mode = graph::string_attribute(graph.node(id), "mode", "linear");
  graph.edit(id)->attributes["mode"] = std::string(mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode);
  return true;
}
// There was only one transformation of coordinates, without the half pixel.
bool roi_align(Graph& graph, NodeId id) {
  const auto mode = graph::string_attribute(graph.node(id), "coordinate_transformation_mode", "half_pixel");
  if (mode != "output_half_pixel") return false;
  graph.edit(id)->attributes.erase("coordinate_transformation_mode");
  return true;
}
bool top_k_count(Graph& graph, NodeId id) {
  // Only the largest, sorted, were available.
  const graph::Attributes& attributes = graph.node(id).attributes;
  return !attributes.contains("largest") && !attributes.contains("sorted");
}
bool top_k(Graph& graph, NodeId id) {
  const NdArray* count = constant(graph, graph.node(id), 1);
  if (count == nullptr || count->count() != 1) return false;
  const std::int64_t k = count->as_int64(0);
  drop_input(graph, id, 1);
  graph.edit(id)->attributes["k"] = k;
  return true;
}

template <const char* const& Name>
bool without(Graph& graph, NodeId id) {
  return graph.node(id).attributes.count(Name) == 0;
}
constexpr const char* kAllowZero = "allowzero";
constexpr const char* kSaturate = "saturate";
constexpr const char* kLast = "select_last_index";
constexpr const char* kDilations = "dilations";
constexpr const char* kCeil = "ceil_mode";
constexpr const char* kMode = "mode";
constexpr const char* kAxis = "axis";
constexpr const char* kBlock = "block_size";
constexpr const char* kLayout = "layout";
constexpr const char* kOutput = "output_dtype";
constexpr const char* kReduction = "reduction";

struct Row {
  std::string_view op;
  std::int64_t before;
  Rule rule;
};

// Newest first: the rules of an operator apply in this order.
constexpr Row kForms[] = {
    {"BitCast", 26, impossible},
    {"CumProd", 26, impossible},
    {"Swish", 24, impossible},
    {"Attention", 23, impossible},
    {"RMSNormalization", 23, impossible},
    {"RotaryEmbedding", 23, impossible},
    {"DequantizeLinear", 21, without<kBlock>},
    {"GroupNormalization", 21, impossible},
    {"QuantizeLinear", 21, without<kBlock>},
    {"QuantizeLinear", 21, without<kOutput>},
    {"AffineGrid", 20, impossible},
    {"Gelu", 20, impossible},
    {"GridSample", 20, grid_sample},
    {"AveragePool", 19, without<kDilations>},
    {"Cast", 19, without<kSaturate>},
    {"CastLike", 19, without<kSaturate>},
    {"DeformConv", 19, impossible},
    {"QuantizeLinear", 19, without<kSaturate>},
    {"Resize", 19, impossible},  // the form of 18 has other scales and sizes
    {"BitwiseAnd", 18, impossible},
    {"BitwiseNot", 18, impossible},
    {"BitwiseOr", 18, impossible},
    {"BitwiseXor", 18, impossible},
    {"CenterCropPad", 18, impossible},
    {"Col2Im", 18, impossible},
    {"LpPool", 18, without<kDilations>},
    {"LpPool", 18, without<kCeil>},
    {"Mish", 18, impossible},
    {"Pad", 18, pad_with_inputs},
    {"ReduceL1", 18, axes},
    {"ReduceL2", 18, axes},
    {"ReduceLogSum", 18, axes},
    {"ReduceLogSumExp", 18, axes},
    {"ReduceMax", 18, axes},
    {"ReduceMean", 18, axes},
    {"ReduceMin", 18, axes},
    {"ReduceProd", 18, axes},
    {"ReduceSumSquare", 18, axes},
    {"Split", 18, split_count},
    {"LayerNormalization", 17, impossible},
    {"GridSample", 16, impossible},
    {"RoiAlign", 16, roi_align},
    {"ScatterElements", 16, without<kReduction>},
    {"ScatterND", 16, without<kReduction>},
    {"CastLike", 15, impossible},
    {"Shape", 15, without_attributes},
    {"BatchNormalization", 14, without_attributes},
    {"GRU", 14, without<kLayout>},
    {"HardSwish", 14, impossible},
    {"LSTM", 14, without<kLayout>},
    {"RNN", 14, without<kLayout>},
    {"Reshape", 14, without<kAllowZero>},
    {"Trilu", 14, impossible},
    {"DequantizeLinear", 13, without<kAxis>},
    {"Hardmax", 13, last_axis},
    {"LogSoftmax", 13, last_axis},
    {"QuantizeLinear", 13, without<kAxis>},
    {"ReduceSum", 13, axes},
    {"Softmax", 13, last_axis},
    {"Split", 13, split_sizes},
    {"Squeeze", 13, axes},
    {"Unsqueeze", 13, axes},
    {"ArgMax", 12, without<kLast>},
    {"ArgMin", 12, without<kLast>},
    {"Celu", 12, impossible},
    {"Einsum", 12, impossible},
    {"GreaterOrEqual", 12, impossible},
    {"LessOrEqual", 12, impossible},
    {"BitShift", 11, impossible},
    {"Clip", 11, clip},
    {"CumSum", 11, impossible},
    {"DepthToSpace", 11, without<kMode>},
    {"Det", 11, impossible},
    {"DynamicQuantizeLinear", 11, impossible},
    {"GatherElements", 11, impossible},
    {"GatherND", 11, impossible},
    {"Gemm", 11, gemm},
    {"Pad", 11, pad},
    {"Range", 11, impossible},
    {"Round", 11, impossible},
    {"ScatterElements", 11, impossible},
    {"ScatterND", 11, impossible},
    {"TopK", 11, top_k_count},
    {"AveragePool", 10, without<kCeil>},
    {"ConvInteger", 10, impossible},
    {"DequantizeLinear", 10, impossible},
    {"IsInf", 10, impossible},
    {"MatMulInteger", 10, impossible},
    {"MaxPool", 10, without<kCeil>},
    {"MaxPool", 10, without<kDilations>},
    {"Mod", 10, impossible},
    {"QuantizeLinear", 10, impossible},
    {"ReverseSequence", 10, impossible},
    {"RoiAlign", 10, impossible},
    {"Slice", 10, slice},
    {"ThresholdedRelu", 10, impossible},
    {"TopK", 10, top_k},
    {"Acosh", 9, impossible},
    {"Asinh", 9, impossible},
    {"Atanh", 9, impossible},
    {"ConstantOfShape", 9, impossible},
    {"Cosh", 9, impossible},
    {"Erf", 9, impossible},
    {"EyeLike", 9, impossible},
    {"IsNaN", 9, impossible},
    {"MaxUnpool", 9, impossible},
    {"MeanVarianceNormalization", 9, impossible},
    {"OneHot", 9, impossible},
    {"Shrink", 9, impossible},
    {"Sign", 9, impossible},
    {"Sinh", 9, impossible},
    {"Where", 9, impossible},
    {"Expand", 8, impossible},
};

// Fields of ModelProto and OperatorSetIdProto.
constexpr std::uint32_t kOpsetImport = 8, kVersion = 2;

}  // namespace

std::optional<std::vector<std::byte>> file_of_opset(const graph::Graph& newest, std::int64_t opset) {
  Graph graph = newest;
  for (const NodeId id : graph.topological_order())
    for (const Row& row : kForms)
      if (row.op == graph.node(id).op && opset < row.before && !row.rule(graph, id)) return std::nullopt;
  const auto file = export_onnx(graph, "a random graph");
  DOVETAIL_CHECK(file.ok(), to_string(file.errors()));
  Message model = read_model(*file);
  for (Field& field : model.fields)
    if (field.number == kOpsetImport)
      for (Field& inner : field.fields)
        if (inner.number == kVersion) inner.varint = static_cast<std::uint64_t>(opset);
  return write_model(model);
}

}  // namespace dovetail::test
