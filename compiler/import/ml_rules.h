// Rules shared by the operators of the domain ai.onnx.ml.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {

std::vector<double> reals_of(const NodeWriter& writer, const std::string& name);
std::vector<std::int64_t> integers_of(const NodeWriter& writer, const std::string& name);
std::vector<std::string> texts_of(const NodeWriter& writer, const std::string& name);
// A list of numbers, from the attribute `name` or the tensor attribute `name` + "_as_tensor".
std::vector<double> numbers_of(const NodeWriter& writer, const std::string& name);

NdArray real_list(DType dtype, const std::vector<double>& values);

// Input 0 as rows of features, [rows, features], in `dtype`, and its extents; a single row may have one axis.
struct Features {
  graph::ValueId value;
  std::int64_t rows, columns;
};
Result<Features> features_of(NodeWriter& writer, DType dtype);

// Applies the post_transform of this name, or that of the node's attribute, to scores [rows, columns]. Error: PROBIT or
// an unknown name.
Result<graph::ValueId> post_transformed(NodeWriter& writer, graph::ValueId scores, std::string_view transform);
Result<graph::ValueId> post_transformed(NodeWriter& writer, graph::ValueId scores);

// The classes of a classifier, as integers. Error: they are strings, and the node's labels are used.
Result<std::vector<std::int64_t>> class_labels(const NodeWriter& writer, const std::string& integers);
// Output 0, the label of each row: the one with the largest score; with two classes and a threshold, the second one if
// the score exceeds it. `scores` is [rows, columns].
void give_largest(NodeWriter& writer, graph::ValueId scores, const std::vector<std::int64_t>& labels);
void give_by_threshold(NodeWriter& writer, graph::ValueId scores, std::int64_t column, double threshold,
                       const std::vector<std::int64_t>& labels);
// Output 1 is `scores`, in float32. Last step of a classifier, after output 0 has been given.
void finish_scores(NodeWriter& writer, graph::ValueId scores);

}  // namespace dovetail::import
