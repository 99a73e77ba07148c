// What the operators of the domain ai.onnx.ml share.
#pragma once

#include <string>
#include <vector>

#include "compiler/import/domain_rows.h"

namespace dovetail::import {

std::vector<double> reals_of(const NodeWriter& writer, const std::string& name);
std::vector<std::int64_t> integers_of(const NodeWriter& writer, const std::string& name);
std::vector<std::string> texts_of(const NodeWriter& writer, const std::string& name);
// A list of numbers, written as an attribute `name` or as a tensor `name` + "_as_tensor".
std::vector<double> numbers_of(const NodeWriter& writer, const std::string& name);

NdArray real_list(DType dtype, const std::vector<double>& values);

// Input 0 as rows of features, [rows, features], in `dtype`; a single row may have one axis. Extents as well.
struct Features {
  graph::ValueId value;
  std::int64_t rows, columns;
};
Result<Features> features_of(NodeWriter& writer, DType dtype);

// The post_transform of this name, or that which the attribute names, of [rows, columns] of scores. Error: PROBIT, or
// no name of one.
Result<graph::ValueId> post_transformed(NodeWriter& writer, graph::ValueId scores, std::string_view transform);
Result<graph::ValueId> post_transformed(NodeWriter& writer, graph::ValueId scores);

// The classes of a classifier, as integers. Error: they are texts, and the node's labels are used.
Result<std::vector<std::int64_t>> class_labels(const NodeWriter& writer, const std::string& integers);
// Output 0, the label of each row: `labels` at the largest score; or of two classes, the second one where the score
// exceeds the threshold. `scores` is [rows, columns].
void give_largest(NodeWriter& writer, graph::ValueId scores, const std::vector<std::int64_t>& labels);
void give_by_threshold(NodeWriter& writer, graph::ValueId scores, std::int64_t column, double threshold,
                       const std::vector<std::int64_t>& labels);
// Output 1 is `scores`, in float32, and output 0 has been given: the node ends.
void finish_scores(NodeWriter& writer, graph::ValueId scores);

}  // namespace dovetail::import
