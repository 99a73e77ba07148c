#include "compiler/export/opset.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/dtype.h"
#include "compiler/import/operator_versions.h"

namespace dovetail {
namespace {

// Attributes that ONNX added to an operator after operator set 13, or after the operator's first version.
struct AttributeSince {
  std::string_view op, attribute;
  std::int64_t opset;
  std::string_view value = "";  // of a text attribute: only this value is newer; empty: the attribute
};
constexpr AttributeSince kAttributes[] = {
    {"AveragePool", "dilations", 19},
    {"BatchNormalization", "training_mode", 14},
    {"Cast", "round_mode", 24},
    {"Cast", "saturate", 19},
    {"CastLike", "round_mode", 24},
    {"CastLike", "saturate", 19},
    {"DequantizeLinear", "block_size", 21},
    {"DequantizeLinear", "output_dtype", 23},
    {"GRU", "layout", 14},
    {"LSTM", "layout", 14},
    {"LpPool", "ceil_mode", 18},
    {"LpPool", "dilations", 18},
    {"Pad", "mode", 19, "wrap"},
    {"QuantizeLinear", "block_size", 21},
    {"QuantizeLinear", "output_dtype", 21},
    {"QuantizeLinear", "precision", 23},
    {"QuantizeLinear", "saturate", 19},
    {"RNN", "layout", 14},
    {"Range", "stash_type", 27},
    {"Reshape", "allowzero", 14},
    {"Resize", "antialias", 18},
    {"Resize", "axes", 18},
    {"Resize", "coordinate_transformation_mode", 19, "half_pixel_symmetric"},
    {"Resize", "keep_aspect_ratio_policy", 18},
    {"ScatterElements", "reduction", 16},
    {"ScatterElements", "reduction", 18, "max"},
    {"ScatterElements", "reduction", 18, "min"},
    {"ScatterND", "reduction", 16},
    {"ScatterND", "reduction", 18, "max"},
    {"ScatterND", "reduction", 18, "min"},
    {"Shape", "end", 15},
    {"Shape", "start", 15},
    {"Split", "num_outputs", 18},
};

// Operands from position `input` on.
struct InputSince {
  std::string_view op;
  std::size_t input;
  std::int64_t opset;
};
constexpr InputSince kInputs[] = {
    {"Attention", 6, 24},       {"Pad", 3, 18},
    {"ReduceL1", 1, 18},        {"ReduceL2", 1, 18},
    {"ReduceLogSum", 1, 18},    {"ReduceLogSumExp", 1, 18},
    {"ReduceMax", 1, 18},       {"ReduceMean", 1, 18},
    {"ReduceMin", 1, 18},       {"ReduceProd", 1, 18},
    {"ReduceSumSquare", 1, 18},
};

// Operators whose meaning or form changed without a new attribute or operand.
struct ChangedAt {
  std::string_view op;
  std::int64_t opset;
};
constexpr ChangedAt kChanged[] = {
    {"DFT", 20},                 // the axis is an operand
    {"GridSample", 20},          // modes have other names
    {"GroupNormalization", 21},  // a scale for each channel, not for each group
    {"RoiAlign", 16},            // coordinates are at half pixels unless the node says otherwise
};

// Element types that an operator supports only since a later operator set than 13.
struct TypeSince {
  std::string_view op;
  std::int64_t opset;
  bool (*has)(DType);
};
constexpr bool is_half(DType dtype) { return dtype == DType::float16; }
constexpr bool is_boolean(DType dtype) { return dtype == DType::boolean; }
constexpr bool is_narrow_integer(DType dtype) { return is_integer(dtype) && size_bytes(dtype) < 4; }
constexpr bool is_16_bit_integer(DType dtype) { return is_integer(dtype) && size_bytes(dtype) == 2; }
constexpr TypeSince kTypes[] = {
    {"Add", 14, is_narrow_integer},
    {"CumSum", 14, is_half},
    {"DequantizeLinear", 19, is_half},
    {"DequantizeLinear", 21, is_16_bit_integer},
    {"Div", 14, is_narrow_integer},
    {"IsInf", 20, is_half},
    {"Mul", 14, is_narrow_integer},
    {"QuantizeLinear", 19, is_half},
    {"QuantizeLinear", 21, is_16_bit_integer},
    {"Range", 27, is_half},
    {"ReduceMax", 20, is_boolean},
    {"ReduceMin", 20, is_boolean},
    {"Relu", 14, is_integer},
    {"Sub", 14, is_narrow_integer},
};
// bfloat16 came to most operators with set 13, to the others at the latest with their version of this set.
constexpr std::int64_t kBfloat16Everywhere = 22;

bool has_attribute(const graph::Node& node, const AttributeSince& row) {
  const auto found = node.attributes.find(std::string(row.attribute));
  if (found == node.attributes.end()) return false;
  const auto* text = std::get_if<std::string>(&found->second);
  return row.value.empty() || (text != nullptr && *text == row.value);
}

std::int64_t lowest_opset(const graph::Graph& graph, const graph::Node& node) {
  std::int64_t opset = kLowestExportedOpset;
  const auto needs = [&](bool condition, std::int64_t since) {
    if (condition) opset = std::max(opset, since);
  };
  const import::OperatorVersions* versions = import::find_versions(node.op);
  if (versions == nullptr) return opset;
  needs(true, versions->versions.front());
  for (const ChangedAt& row : kChanged) needs(row.op == node.op, row.opset);
  for (const AttributeSince& row : kAttributes) needs(row.op == node.op && has_attribute(node, row), row.opset);
  for (const InputSince& row : kInputs)
    needs(row.op == node.op && std::any_of(node.inputs.begin() + std::min(row.input, node.inputs.size()),
                                           node.inputs.end(), [](graph::ValueId id) { return id.valid(); }),
          row.opset);
  for (const auto* values : {&node.inputs, &node.outputs})
    for (graph::ValueId id : *values) {
      if (!id.valid()) continue;
      const DType dtype = graph.value(id).type.dtype;
      for (const TypeSince& row : kTypes) needs(row.op == node.op && row.has(dtype), row.opset);
      needs(dtype == DType::bfloat16, import::version_at(*versions, kBfloat16Everywhere));
    }
  return opset;
}

}  // namespace

std::int64_t exported_opset(const graph::Graph& graph) {
  std::int64_t opset = kLowestExportedOpset;
  for (graph::NodeId id : graph.live_nodes()) opset = std::max(opset, lowest_opset(graph, graph.node(id)));
  return opset;
}

std::int64_t exported_ir_version(std::int64_t opset) {
  constexpr struct { std::int64_t opset, ir; } kReleases[] = {{21, 10}, {19, 9}, {15, 8}, {13, 7}};
  return std::find_if(std::begin(kReleases), std::end(kReleases), [&](const auto& row) { return row.opset <= opset; })
      ->ir;
}

}  // namespace dovetail
