// ai.onnx.ml: linear models.
#include "compiler/import/ml_rules.h"

namespace dovetail::import {
namespace {

using graph::ValueId;

// x coefficients' + intercepts, [rows, scores]; coefficients are [scores, features], row by row.
Result<ValueId> linear_scores(NodeWriter& writer, std::int64_t scores, const std::vector<double>& intercepts) {
  DOVETAIL_ASSIGN(const Features x, features_of(writer, DType::float32));
  const std::vector<double> coefficients = reals_of(writer, "coefficients");
  if (scores < 1 || static_cast<std::int64_t>(coefficients.size()) / scores != x.columns ||
      static_cast<std::int64_t>(coefficients.size()) % scores != 0 ||
      (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != scores))
    return writer.refused(fmt::format("{} coefficients and {} intercepts are given for {} results of {} features",
                                      coefficients.size(), intercepts.size(), scores, x.columns),
                          "expected a coefficient per result and feature, and an intercept per result");
  const NdArray matrix = real_list(DType::float32, coefficients).reshaped({scores, x.columns});
  std::vector<ValueId> inputs{x.value, writer.constant("coefficients", matrix)};
  if (!intercepts.empty()) inputs.push_back(writer.constant("intercepts", real_list(DType::float32, intercepts)));
  return writer.op("Gemm", "linear", std::move(inputs), {{"transB", std::int64_t{1}}},
                   graph::TensorType{DType::float32, {x.rows, scores}});
}

Result<void> write_linear_regressor(NodeWriter& writer) {
  DOVETAIL_ASSIGN(const ValueId scores,
                  linear_scores(writer, writer.integer("targets", 1), reals_of(writer, "intercepts")));
  DOVETAIL_ASSIGN(const ValueId transformed, post_transformed(writer, scores));
  writer.finish("Identity", {transformed});
  return {};
}

// A score per class; for two classes, one score, that of the second class, is enough.
Result<void> write_linear_classifier(NodeWriter& writer) {
  DOVETAIL_ASSIGN(const std::vector<std::int64_t> labels, class_labels(writer, "classlabels_ints"));
  const std::vector<double> intercepts = reals_of(writer, "intercepts");
  const auto classes = static_cast<std::int64_t>(labels.size());
  const bool one_score = classes == 2 && intercepts.size() == 1;
  DOVETAIL_ASSIGN(const ValueId scores, linear_scores(writer, one_score ? 1 : classes, intercepts));
  if (!one_score) {
    give_largest(writer, scores, labels);
    DOVETAIL_ASSIGN(const ValueId transformed, post_transformed(writer, scores));
    finish_scores(writer, transformed);
    return {};
  }
  // The score of the first class follows from that of the second.
  const std::string transform = graph::string_attribute(writer.node(), "post_transform", "NONE");
  give_by_threshold(writer, scores, 0, transform == "LOGISTIC" ? 0 : 0.5, labels);
  if (transform != "NONE" && transform != "LOGISTIC")
    return writer.refused(fmt::format("post_transform is {}, with one score for two classes", transform),
                          "use NONE or LOGISTIC, or export with a score per class");
  DOVETAIL_ASSIGN(const ValueId second, post_transformed(writer, scores));
  const ValueId first = writer.op("Sub", "first_score", {writer.number("whole", DType::float32, 1), second});
  finish_scores(writer, writer.op("Concat", "both_scores", {first, second}, {{"axis", std::int64_t{1}}}));
  return {};
}

}  // namespace

std::vector<DomainRow> ml_linear_rows() {
  constexpr auto integer = ops::AttributeKind::integer, text = ops::AttributeKind::text,
                 integers = ops::AttributeKind::integers, reals = ops::AttributeKind::reals,
                 texts = ops::AttributeKind::texts;
  constexpr auto required = ops::Presence::required;
  return {{"ai.onnx.ml.LinearClassifier",
           write_linear_classifier,
           {{"classlabels_ints", integers},
            {"classlabels_strings", texts},
            {"coefficients", reals, required},
            {"intercepts", reals},
            {"multi_class", integer},
            {"post_transform", text}},
           1,
           1},
          {"ai.onnx.ml.LinearRegressor",
           write_linear_regressor,
           {{"coefficients", reals, required}, {"intercepts", reals}, {"post_transform", text}, {"targets", integer}},
           1,
           1}};
}

}  // namespace dovetail::import
