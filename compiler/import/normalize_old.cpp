// Forms of operators before operator set 7, as exporters of Caffe2 and early PyTorch wrote them.
#include <iterator>

#include "compiler/import/rewrite.h"

namespace dovetail::import {
namespace {

// Removes the attribute that listed inputs that might be overwritten.
Result<void> consumed_inputs(Rewrite& rewrite) {
  rewrite.edit()->attributes.erase("consumed_inputs");
  return {};
}

// Reshapes input `position`.
void reshape_input(Rewrite& rewrite, std::size_t position, const Shape& shape) {
  const std::string stem = fmt::format("{}/{}", rewrite.node().name, position);
  const graph::ValueId input = rewrite.node().inputs[position];
  const graph::ValueId reshaped = rewrite.graph.add_value(stem, {rewrite.type(position).dtype, {}});
  const graph::ValueId to = rewrite.graph.add_constant(stem + "/shape", int64_list(shape));
  rewrite.before.push_back(rewrite.add("Reshape", "reshape", {input, to}, {reshaped}));
  rewrite.set_input(position, reshaped);
}

// With broadcast = 1, the axes of B are matched with those of A from `axis` on, by default the last ones.
Result<void> broadcast(Rewrite& rewrite) {
  const std::int64_t on = rewrite.integer("broadcast", 0).value_or(0);
  const std::optional<std::int64_t> axis = rewrite.integer("axis", -1);
  const bool has_axis = rewrite.node().attributes.contains("axis");
  rewrite.edit()->attributes.erase("broadcast");
  rewrite.edit()->attributes.erase("axis");
  if (!rewrite.has(0) || !rewrite.has(1) || on == 0) return {};
  const Shape a = rewrite.type(0).shape, b = rewrite.type(1).shape;
  const auto rank = static_cast<std::int64_t>(a.size()), own = static_cast<std::int64_t>(b.size());
  if (!has_axis || !axis || *axis == rank - own || b.empty()) return {};
  const std::int64_t first = *axis < 0 ? *axis + rank : *axis;
  if (first < 0 || first + own > rank)
    return rewrite.refused(
        fmt::format("axis {} is not possible for {} broadcast to {}", *axis, to_string(b), to_string(a)),
        "export the model again");
  Shape aligned = b;
  aligned.insert(aligned.end(), static_cast<std::size_t>(rank - own - first), 1);
  reshape_input(rewrite, 1, aligned);
  return {};
}

// Gemm broadcast C only if its attribute allowed that; now it always may.
Result<void> gemm(Rewrite& rewrite) {
  rewrite.edit()->attributes.erase("broadcast");
  return {};
}

// The slope had an element per channel, which is axis 1.
Result<void> prelu(Rewrite& rewrite) {
  if (!rewrite.has(0) || !rewrite.has(1) || rewrite.type(1).shape.size() != 1 || rewrite.type(0).shape.size() < 2)
    return {};
  Shape shape = rewrite.type(1).shape;
  shape.insert(shape.end(), rewrite.type(0).shape.size() - 2, 1);
  if (shape.size() > 1) reshape_input(rewrite, 1, shape);
  return {};
}

Result<void> inference_only(Rewrite& rewrite) {
  if (rewrite.integer("is_test", 0) != std::optional<std::int64_t>(1))
    return rewrite.refused("is_test must be 1 (inference)", "export the model for inference");
  rewrite.edit()->attributes.erase("is_test");
  return {};
}

Result<void> concat(Rewrite& rewrite) {
  rewrite.edit()->attributes.emplace("axis", std::int64_t{1});
  return {};
}

// The old defaults had fewer digits.
Result<void> selu(Rewrite& rewrite) {
  rewrite.edit()->attributes.emplace("alpha", 1.6732);
  rewrite.edit()->attributes.emplace("gamma", 1.0507);
  return {};
}

// Operators whose first version had the attribute consumed_inputs, and those that broadcast only on request until opset
// 7.
constexpr std::string_view kConsumers[] = {"Abs",       "Add",         "BatchNormalization",
                                           "Ceil",      "Clip",        "Div",
                                           "Dropout",   "Elu",         "Exp",
                                           "Floor",     "HardSigmoid", "InstanceNormalization",
                                           "LeakyRelu", "Log",         "Max",
                                           "Mean",      "Min",         "Mul",
                                           "Neg",       "PRelu",       "Reciprocal",
                                           "Relu",      "Selu",        "Sigmoid",
                                           "Sqrt",      "Sub",         "Sum",
                                           "Tanh"};
constexpr std::string_view kBroadcasting[] = {"Add", "And", "Div", "Equal", "Greater", "Less",
                                              "Mul", "Or",  "Pow", "Sub",   "Xor"};

constexpr Row kRows[] = {
    {"BatchNormalization", 7, inference_only},
    {"Concat", 4, concat},
    {"Dropout", 7, inference_only},
    {"Gemm", 7, gemm},
    {"PRelu", 7, prelu},
    {"Selu", 6, selu},
};

}  // namespace

std::span<const Row> old_rules() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all(std::begin(kRows), std::end(kRows));
    for (const std::string_view op : kConsumers) all.push_back({op, 6, consumed_inputs});
    for (const std::string_view op : kBroadcasting) all.push_back({op, 7, broadcast});
    return all;
  }();
  return rows;
}

}  // namespace dovetail::import
