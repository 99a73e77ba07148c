#include "compiler/import/ml_rules.h"

#include <algorithm>

namespace dovetail::import {
namespace {

using graph::ValueId;

template <typename List>
List list_attribute(const NodeWriter& writer, const std::string& name) {
  const auto found = writer.node().attributes.find(name);
  const auto* list = found == writer.node().attributes.end() ? nullptr : std::get_if<List>(&found->second);
  return list == nullptr ? List{} : *list;
}

// Softmax over the nonzero scores; zeros stay zero.
ValueId softmax_without_zeros(NodeWriter& writer, ValueId scores) {
  constexpr double kZero = 1e-7;  // a score this small counts as 0
  const ValueId axis = writer.integers("score_axis", {1});
  const auto of = [&](const char* op, const char* stem, std::vector<ValueId> inputs,
                      graph::Attributes attributes = {}) {
    return writer.op(op, stem, std::move(inputs), std::move(attributes), graph::TensorType{DType::float32, {}});
  };
  const ValueId largest = of("ReduceMax", "largest", {scores, axis}, {{"keepdims", std::int64_t{1}}});
  const ValueId counts =
      writer.op("Greater", "counts", {of("Abs", "size", {scores}), writer.number("zero_below", DType::float32, kZero)});
  const ValueId powers = of("Exp", "powers", {of("Sub", "less_largest", {scores, largest})});
  const ValueId shrunk = of("Mul", "shrunk", {scores, of("Exp", "shrinking", {of("Neg", "negative", {largest})})});
  const ValueId summed = of("Where", "summed", {counts, powers, writer.number("nothing", DType::float32, 0)});
  const ValueId sum = of("ReduceSum", "sum", {summed, axis}, {{"keepdims", std::int64_t{1}}});
  return of("Div", "softmax", {of("Where", "parts", {counts, powers, shrunk}), sum});
}

}  // namespace

std::vector<double> reals_of(const NodeWriter& writer, const std::string& name) {
  return list_attribute<std::vector<double>>(writer, name);
}
std::vector<std::int64_t> integers_of(const NodeWriter& writer, const std::string& name) {
  return list_attribute<std::vector<std::int64_t>>(writer, name);
}
std::vector<std::string> texts_of(const NodeWriter& writer, const std::string& name) {
  return list_attribute<std::vector<std::string>>(writer, name);
}

std::vector<double> numbers_of(const NodeWriter& writer, const std::string& name) {
  const auto tensor = writer.node().attributes.find(name + "_as_tensor");
  const auto* array = tensor == writer.node().attributes.end() ? nullptr : std::get_if<NdArray>(&tensor->second);
  if (array == nullptr) return reals_of(writer, name);
  std::vector<double> values;
  for (std::int64_t i = 0; i < array->count(); ++i) values.push_back(array->as_double(i));
  return values;
}

NdArray real_list(DType dtype, const std::vector<double>& values) {
  NdArray array(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, values[static_cast<std::size_t>(i)]);
  return array;
}

Result<Features> features_of(NodeWriter& writer, DType dtype) {
  const graph::TensorType x = writer.type(0);
  if (x.shape.size() != 1 && x.shape.size() != 2)
    return writer.refused(fmt::format("the input has shape {}", to_string(x.shape)), "it must be [rows, features]");
  const std::int64_t rows = x.shape.size() == 1 ? 1 : x.shape[0];
  ValueId value = writer.cast(writer.in(0), "real", dtype);
  if (x.shape.size() == 1) value = writer.reshape(value, "one_row", {1, x.shape[0]});
  return Features{value, rows, x.shape.back()};
}

Result<ValueId> post_transformed(NodeWriter& writer, ValueId scores) {
  return post_transformed(writer, scores, graph::string_attribute(writer.node(), "post_transform", "NONE"));
}

Result<ValueId> post_transformed(NodeWriter& writer, ValueId scores, std::string_view transform) {
  const graph::TensorType type{DType::float32, {}};
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return writer.op("Sigmoid", "logistic", {scores}, {}, type);
  if (transform == "SOFTMAX") return writer.op("Softmax", "softmax", {scores}, {{"axis", std::int64_t{1}}}, type);
  if (transform == "SOFTMAX_ZERO") return softmax_without_zeros(writer, scores);
  return writer.refused(fmt::format("post_transform is {}", transform), "use NONE, LOGISTIC, SOFTMAX or SOFTMAX_ZERO");
}

Result<std::vector<std::int64_t>> class_labels(const NodeWriter& writer, const std::string& integers) {
  std::vector<std::int64_t> labels = integers_of(writer, integers);
  const std::vector<std::string> texts = texts_of(writer, "classlabels_strings");
  if (!texts.empty() && writer.is_used(0))
    return writer.refused(
        fmt::format("the labels are strings (\"{}\", ...), and string tensors are not supported", texts.front()),
        "train with integer classes, or remove the labels output: the scores output has a column for each class");
  for (std::size_t i = 0; i < texts.size() && labels.size() < texts.size(); ++i)
    labels.push_back(static_cast<std::int64_t>(i));
  if (labels.empty()) return writer.refused("the node has no class labels", "fix the exporter");
  return labels;
}

void give_largest(NodeWriter& writer, ValueId scores, const std::vector<std::int64_t>& labels) {
  if (!writer.is_used(0)) return;
  const ValueId best = writer.op("ArgMax", "best", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}},
                                 graph::TensorType{DType::int64, {}});
  writer.give(0, writer.op("Gather", "label", {writer.integers("labels", labels), best}));
}

void give_by_threshold(NodeWriter& writer, ValueId scores, std::int64_t column, double threshold,
                       const std::vector<std::int64_t>& labels) {
  if (!writer.is_used(0)) return;
  const ValueId score =
      writer.op("Gather", "score", {scores, writer.number("column", DType::int64, static_cast<double>(column))},
                {{"axis", std::int64_t{1}}});
  const ValueId is_second =
      writer.op("Greater", "is_second", {score, writer.number("threshold", DType::float32, threshold)});
  writer.give(0, writer.op("Where", "label",
                           {is_second, writer.constant("second_label", NdArray::scalar(labels[1])),
                            writer.constant("first_label", NdArray::scalar(labels[0]))}));
}

void finish_scores(NodeWriter& writer, ValueId scores) {
  // Output 0 is given; the result of the node itself is output 1.
  Rewrite& rewrite = writer.rewrite();
  const std::vector<ValueId> outputs = writer.node().outputs;
  if (!writer.is_used(0)) rewrite.graph.value(outputs[0]).producer = {};
  const graph::NodeEdit edit = rewrite.edit();
  edit->op = "Identity";
  edit->attributes.clear();
  edit->inputs = {scores};
  // A classifier with only the label output used still needs a value for its scores.
  edit->outputs = {outputs.size() > 1 ? outputs[1] : rewrite.graph.add_value(writer.node().name + "/scores", {})};
  rewrite.graph.value(edit->outputs[0]).producer = rewrite.id;
}

}  // namespace dovetail::import
