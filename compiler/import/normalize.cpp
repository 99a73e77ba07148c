#include "compiler/import/normalize.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/onnx_types.h"
#include "compiler/import/narrow_types.h"
#include "compiler/import/rewrite.h"

namespace dovetail::import {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Moves the attribute `name` (a list of integers) to input `position`, if present.
Result<void> move_ints(Rewrite& rewrite, const char* name, std::size_t position) {
  const auto found = rewrite.node().attributes.find(name);
  if (found == rewrite.node().attributes.end()) return {};
  std::vector<std::int64_t> values;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&found->second)) values = *list;
  else if (const auto* single = std::get_if<std::int64_t>(&found->second)) values = {*single};
  else return rewrite.refused(fmt::format("attribute {} is not a list of integers", name), "export the model again");
  rewrite.edit()->attributes.erase(found);
  rewrite.set_constant_input(position, name, int64_list(values));
  return {};
}

// Moves the attribute `name` (a number) to scalar input `position`, in the type of input 0.
Result<void> move_number(Rewrite& rewrite, const char* name, std::size_t position) {
  const auto found = rewrite.node().attributes.find(name);
  if (found == rewrite.node().attributes.end()) return {};
  const auto* value = std::get_if<double>(&found->second);
  if (!value || !rewrite.has(0))
    return rewrite.refused(fmt::format("attribute {} is not a number", name), "export the model again");
  NdArray array = scalar_of(rewrite.type(0).dtype, *value);
  rewrite.edit()->attributes.erase(found);
  rewrite.set_constant_input(position, name, std::move(array));
  return {};
}

Result<void> axes_to_input(Rewrite& rewrite) { return move_ints(rewrite, "axes", 1); }

Result<void> clip(Rewrite& rewrite) {
  DOVETAIL_TRY(move_number(rewrite, "min", 1));
  return move_number(rewrite, "max", 2);
}

Result<void> pad(Rewrite& rewrite) {
  DOVETAIL_TRY(move_ints(rewrite, "pads", 1));
  return move_number(rewrite, "value", 2);
}

Result<void> slice(Rewrite& rewrite) {
  DOVETAIL_TRY(move_ints(rewrite, "starts", 1));
  DOVETAIL_TRY(move_ints(rewrite, "ends", 2));
  return move_ints(rewrite, "axes", 3);
}

Result<void> split_sizes(Rewrite& rewrite) { return move_ints(rewrite, "split", 1); }

// Before opset 18, the number of parts was the number of outputs.
Result<void> split_count(Rewrite& rewrite) {
  if (!rewrite.has(1))
    rewrite.edit()->attributes["num_outputs"] = static_cast<std::int64_t>(rewrite.node().outputs.size());
  return {};
}

Result<void> top_k(Rewrite& rewrite) { return move_ints(rewrite, "k", 1); }

// Inference ignores the ratio, as does training with ratio 0; the mask is then all true.
Result<void> dropout(Rewrite& rewrite) {
  const auto input = [&](std::size_t position) -> const NdArray* {
    if (!rewrite.has(position)) return nullptr;
    const auto& constant = rewrite.graph.value(rewrite.node().inputs[position]).constant;
    return constant && constant->count() == 1 ? &*constant : nullptr;
  };
  const bool in_training = rewrite.has(2) && (input(2) == nullptr || input(2)->as_int64(0) != 0);
  const bool drops = !rewrite.has(1) || input(1) == nullptr || input(1)->as_double(0) != 0;
  if (in_training && drops)
    return rewrite.refused("the node drops elements at random (training_mode)", "export the model for inference");
  rewrite.edit()->attributes.erase("ratio");
  if (!rewrite.has(0)) return {};
  rewrite.edit()->inputs.resize(1);
  if (rewrite.node().outputs.size() != 2) return {};
  const ValueId mask = rewrite.node().outputs[1];
  rewrite.edit()->outputs.resize(1);
  rewrite.graph.value(mask).producer = {};
  NdArray all(DType::boolean, {1});
  all.set_int64(0, 1);
  const ValueId shape =
      rewrite.graph.add_constant(rewrite.node().name + "/mask_shape", int64_list(rewrite.type(0).shape));
  rewrite.after.push_back(rewrite.add("ConstantOfShape", "mask", {shape}, {mask}, {{"value", std::move(all)}}));
  return {};
}

Result<void> batch_normalization(Rewrite& rewrite) {
  const graph::NodeEdit edit = rewrite.edit();
  Node& node = *edit;
  if (const auto spatial = node.attributes.find("spatial"); spatial != node.attributes.end()) {
    if (const auto* value = std::get_if<std::int64_t>(&spatial->second); !value || *value != 1)
      return rewrite.refused("spatial = 0 (statistics per element) is not supported",
                             "use spatial = 1 (statistics per channel)");
    node.attributes.erase(spatial);
  }
  // Outputs 1 to 4 are the statistics written in training.
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (rewrite.graph.is_output(node.outputs[i]) || !rewrite.graph.users(node.outputs[i]).empty())
      return rewrite.refused(fmt::format("output {} (training statistics) is used, but not supported", i),
                             "export the model for inference");
  for (std::size_t i = 1; i < node.outputs.size(); ++i) rewrite.graph.value(node.outputs[i]).producer = {};
  if (!node.outputs.empty()) node.outputs.resize(1);
  return {};
}

// Softmax, LogSoftmax and Hardmax before opset 13 treat the input as a matrix: the axes before `axis` are its rows, the
// others its columns.
Result<void> matrix_softmax(Rewrite& rewrite) {
  const std::optional<std::int64_t> given = rewrite.integer("axis", 1);
  if (!rewrite.has(0) || !given || rewrite.node().outputs.size() != 1) return {};
  const Shape shape = rewrite.type(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = *given;
  if (axis < -rank || axis > rank)
    return rewrite.refused(fmt::format("axis {} does not exist for rank {}", axis, rank), "export the model again");
  if (axis < 0) axis += rank;
  std::int64_t rows = 1, columns = 1;
  for (std::int64_t i = 0; i < rank; ++i) (i < axis ? rows : columns) *= shape[static_cast<std::size_t>(i)];
  if (axis < rank &&
      columns == shape[static_cast<std::size_t>(axis)]) {  // the later axes have extent 1: both definitions agree
    rewrite.edit()->attributes["axis"] = axis;
    return {};
  }
  const DType dtype = rewrite.type(0).dtype;
  const std::string stem = rewrite.graph.value(rewrite.node().outputs[0]).name;
  const ValueId input = rewrite.node().inputs[0], output = rewrite.node().outputs[0];
  const ValueId matrix = rewrite.graph.add_value(stem + "/matrix", {dtype, {rows, columns}});
  const ValueId result = rewrite.graph.add_value(stem + "/softmax", {dtype, {rows, columns}});
  const ValueId to_matrix = rewrite.graph.add_constant(stem + "/matrix_shape", int64_list({rows, columns}));
  const ValueId to_shape = rewrite.graph.add_constant(stem + "/shape", int64_list(shape));
  rewrite.graph.value(output).producer = {};
  rewrite.before.push_back(rewrite.add("Reshape", "to_matrix", {input, to_matrix}, {matrix}));
  rewrite.after.push_back(rewrite.add("Reshape", "from_matrix", {result, to_shape}, {output}));
  rewrite.edit()->inputs[0] = matrix;
  rewrite.edit()->outputs[0] = result;
  rewrite.graph.value(result).producer = rewrite.id;
  rewrite.edit()->attributes["axis"] = std::int64_t{1};
  return {};
}

// Resize of opset 10: no coordinate transformation; nearest is the lower neighbor when growing, the upper one when
// shrinking.
Result<void> resize_10(Rewrite& rewrite) {
  if (rewrite.node().inputs.size() != 2 || !rewrite.has(1))
    return rewrite.refused("the inputs X and scales are required", "export the model again");
  const ValueId scales = rewrite.node().inputs[1];
  rewrite.edit()->inputs = {rewrite.node().inputs[0], ValueId{}, scales};
  rewrite.edit()->attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  bool grows = false, shrinks = false;
  if (const auto& constant = rewrite.graph.value(scales).constant)
    for (std::int64_t i = 0; i < constant->count(); ++i) {
      grows = grows || constant->as_double(i) > 1;
      shrinks = shrinks || constant->as_double(i) < 1;
    }
  if (grows && shrinks)
    return rewrite.refused("the node shrinks one axis and enlarges another", "export the model with opset 11 or later");
  rewrite.edit()->attributes["nearest_mode"] = std::string(shrinks ? "ceil" : "floor");
  return {};
}

Result<void> upsample(Rewrite& rewrite) {
  const auto found = rewrite.node().attributes.find("scales");
  if (found != rewrite.node().attributes.end()) {
    const auto* scales = std::get_if<std::vector<double>>(&found->second);
    if (!scales) return rewrite.refused("attribute scales is not a list of numbers", "export the model again");
    NdArray array = NdArray::from<float>({static_cast<std::int64_t>(scales->size())}, {scales->begin(), scales->end()});
    rewrite.edit()->attributes.erase(found);
    rewrite.set_constant_input(1, "scales", std::move(array));
  }
  rewrite.edit()->op = "Resize";
  return resize_10(rewrite);
}

// Before opset 13, which allows omitting inputs, an empty tensor means an omitted input.
Result<void> resize_empty_inputs(Rewrite& rewrite) {
  for (std::size_t i = 1; i < rewrite.node().inputs.size(); ++i)
    if (rewrite.has(i) && rewrite.type(i).shape == Shape{0}) rewrite.edit()->inputs[i] = {};
  while (!rewrite.node().inputs.empty() && !rewrite.node().inputs.back().valid()) rewrite.edit()->inputs.pop_back();
  return {};
}

Result<void> scatter(Rewrite& rewrite) {
  rewrite.edit()->op = "ScatterElements";
  return {};
}

// Scale and bias per group (opset 18) become scale and bias per channel.
Result<void> group_normalization(Rewrite& rewrite) {
  const std::int64_t groups = rewrite.integer("num_groups", 0).value_or(0);
  if (!rewrite.has(0) || rewrite.type(0).shape.size() < 2 || groups <= 0) return {};  // infer reports it
  const std::int64_t channels = rewrite.type(0).shape[1];
  for (std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (!rewrite.has(input)) continue;
    const auto& constant = rewrite.graph.value(rewrite.node().inputs[input]).constant;
    if (!constant) return rewrite.refused("scale and bias are not constants", "export the model with opset 21");
    if (constant->count() != groups || channels % groups != 0)
      return rewrite.refused(
          fmt::format("{} scales are given for {} groups of {} channels", constant->count(), groups, channels),
          "give one per group");
    NdArray expanded(constant->dtype(), {channels});
    for (std::int64_t c = 0; c < channels; ++c) expanded.set_double(c, constant->as_double(c / (channels / groups)));
    rewrite.set_constant_input(input, input == 1 ? "scale" : "bias", std::move(expanded));
  }
  return {};
}

// Appends a Clip to the node's first output: steps of less than a byte are stored as bytes, which the Clip keeps in
// range.
void clip_result(Rewrite& rewrite, const NarrowType& type) {
  const ValueId result = rewrite.node().outputs[0];
  const std::string stem = rewrite.graph.value(result).name;
  const ValueId wide = rewrite.graph.add_value(stem + "/wide", {type.widened, {}});
  rewrite.graph.value(result).producer = {};
  rewrite.edit()->outputs[0] = wide;
  rewrite.graph.value(wide).producer = rewrite.id;
  const ValueId low = rewrite.graph.add_constant(stem + "/min", scalar_of(type.widened, type.min)),
                high = rewrite.graph.add_constant(stem + "/max", scalar_of(type.widened, type.max));
  rewrite.after.push_back(rewrite.add("Clip", "narrow", {wide, low, high}, {result}));
}

// QuantizeLinear to a type of less than a byte.
Result<void> quantize_narrow(Rewrite& rewrite) {
  const NarrowType* type = find_narrow(rewrite.integer("output_dtype", 0).value_or(0));
  if (type == nullptr) return {};
  rewrite.edit()->attributes["output_dtype"] = std::int64_t{info(type->widened).onnx};
  clip_result(rewrite, *type);
  return {};
}

// Cast of a real number to such a type rounds to the nearest value in range; of an integer, it takes the lowest bits.
Result<void> cast_narrow(Rewrite& rewrite) {
  const std::int64_t to = rewrite.integer("to", 0).value_or(0);
  const NarrowType* type = find_narrow(to);
  if (type == nullptr) return {};
  if (!rewrite.has(0) || !is_floating(rewrite.type(0).dtype))
    return rewrite.refused(fmt::format("an integer cannot be converted to {}", onnx_type_name(to)),
                           "store the tensor as that type, or quantize it by QuantizeLinear");
  rewrite.edit()->attributes["to"] = std::int64_t{info(type->widened).onnx};
  clip_result(rewrite, *type);
  return {};
}

// Removes attributes that have no effect here: saturation for types that are rejected, and sums and quotients in
// float32, the smallest type used.
Result<void> without_effect(Rewrite& rewrite) {
  for (const char* name : {"precision", "round_mode", "stash_type"}) rewrite.edit()->attributes.erase(name);
  return {};
}

Result<void> grid_sample(Rewrite& rewrite) {
  const graph::NodeEdit edit = rewrite.edit();
  const auto mode = edit->attributes.find("mode");
  if (mode == edit->attributes.end()) return {};
  if (mode->second == graph::Attribute{std::string("bilinear")}) mode->second = std::string("linear");
  if (mode->second == graph::Attribute{std::string("bicubic")}) mode->second = std::string("cubic");
  return {};
}

// With a constant condition, Compress is a Gather of the slices where it is true.
Result<void> compress(Rewrite& rewrite) {
  if (!rewrite.has(0) || !rewrite.has(1)) return {};
  const std::optional<NdArray> condition = rewrite.graph.value(rewrite.node().inputs[1]).constant;
  if (!condition || condition->dtype() != DType::boolean || condition->rank() != 1) return {};  // infer reports it
  const Shape shape = rewrite.type(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const bool flat = !rewrite.node().attributes.contains("axis");
  const std::optional<std::int64_t> axis = flat ? 0 : rewrite.integer("axis", 0);
  if (!axis || (!flat && (*axis < -rank || *axis >= rank))) return {};
  const std::int64_t slices = flat ? element_count(shape) : shape[static_cast<std::size_t>((*axis + rank) % rank)];
  if (condition->count() > slices)
    return rewrite.refused(fmt::format("the condition has {} elements, for {} slices", condition->count(), slices),
                           "it must not be longer than the axis, or than the flattened input if no axis is given");
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < condition->count(); ++i)
    if (condition->as_int64(i) != 0) chosen.push_back(i);
  if (flat) {
    const ValueId all =
        rewrite.graph.add_value(rewrite.node().name + "/all", {rewrite.type(0).dtype, {element_count(shape)}});
    const ValueId to_all =
        rewrite.graph.add_constant(rewrite.node().name + "/all_shape", int64_list({element_count(shape)}));
    rewrite.before.push_back(rewrite.add("Reshape", "flatten", {rewrite.node().inputs[0], to_all}, {all}));
    rewrite.set_input(0, all);
  }
  rewrite.edit()->op = "Gather";
  rewrite.edit()->attributes["axis"] = *axis;
  rewrite.set_constant_input(1, "chosen", int64_list(chosen));
  return {};
}

Result<void> roi_align(Rewrite& rewrite) {
  rewrite.edit()->attributes["coordinate_transformation_mode"] = std::string("output_half_pixel");
  return {};
}

constexpr std::int64_t kAlways = 1'000;  // the operator was removed, or its old form is still legal
constexpr Row kRules[] = {
    {"Attention", kAlways, expand_attention},
    {"BatchNormalization", kAlways, batch_normalization},
    {"Cast", kAlways, without_effect},
    {"Cast", kAlways, cast_narrow},
    {"CastLike", kAlways, without_effect},
    {"Clip", 11, clip},
    {"Compress", kAlways, compress},
    {"Dropout", kAlways, dropout},
    {"Einsum", kAlways, einsum_as_product},
    {"GridSample", 20, grid_sample},
    {"GroupNormalization", 21, group_normalization},
    {"Hardmax", 13, matrix_softmax},
    {"LogSoftmax", 13, matrix_softmax},
    {"Pad", 11, pad},
    {"QuantizeLinear", kAlways, without_effect},
    {"QuantizeLinear", kAlways, quantize_narrow},
    {"Range", kAlways, without_effect},
    {"ReduceL1", 18, axes_to_input},
    {"ReduceL2", 18, axes_to_input},
    {"ReduceLogSum", 18, axes_to_input},
    {"ReduceLogSumExp", 18, axes_to_input},
    {"ReduceMax", 18, axes_to_input},
    {"ReduceMean", 18, axes_to_input},
    {"ReduceMin", 18, axes_to_input},
    {"ReduceProd", 18, axes_to_input},
    {"ReduceSum", 13, axes_to_input},
    {"ReduceSumSquare", 18, axes_to_input},
    {"Resize", 11, resize_10},
    {"Resize", kAlways, resize_empty_inputs},
    {"RoiAlign", 16, roi_align},
    {"Scatter", kAlways, scatter},
    {"Slice", 10, slice},
    {"Softmax", 13, matrix_softmax},
    {"Split", 13, split_sizes},
    {"Split", 18, split_count},
    {"Squeeze", 13, axes_to_input},
    {"TopK", 10, top_k},
    {"Unsqueeze", 13, axes_to_input},
    {"Upsample", kAlways, upsample},
};
constexpr std::string_view kNormalizedAway[] = {"Attention", "Constant", "Scatter", "Upsample"};

}  // namespace

bool is_normalized_away(std::string_view op) {
  return std::find(std::begin(kNormalizedAway), std::end(kNormalizedAway), op) != std::end(kNormalizedAway);
}

std::span<const std::size_t> inputs_of_rules(std::string_view op) {
  static constexpr std::size_t kDropout[] = {1, 2};  // ratio, training_mode
  static constexpr std::size_t kCompress[] = {1};    // condition
  return op == "Dropout"    ? std::span(kDropout)
         : op == "Compress" ? std::span(kCompress)
                            : std::span<const std::size_t>();
}

Result<std::vector<NodeId>> normalize(Graph& graph, NodeId node, std::int64_t opset) {
  Rewrite rewrite{graph, node, opset};
  const std::string op = graph.node(node).op;
  for (const Row& row : old_rules())
    if (row.op == op && opset < row.before) DOVETAIL_TRY(row.rule(rewrite));
  for (const Row& row : kRules)
    if (row.op == op && opset < row.before) DOVETAIL_TRY(row.rule(rewrite));
  std::vector<NodeId> nodes = std::move(rewrite.before);
  nodes.push_back(node);
  nodes.insert(nodes.end(), rewrite.after.begin(), rewrite.after.end());
  return nodes;
}

}  // namespace dovetail::import
