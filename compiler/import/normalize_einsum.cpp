// Einsum of two tensors that is a matrix product, expanded into MatMul between operators that move data, so that MatMul
// kernels run it.
#include <algorithm>

#include "compiler/import/rewrite.h"
#include "compiler/ops/einsum.h"

namespace dovetail::import {
namespace {

using graph::ValueId;
using ops::Labels;

bool contains(const Labels& labels, const std::string& label) {
  return std::ranges::find(labels, label) != labels.end();
}
bool repeats(Labels labels) {
  std::ranges::sort(labels);
  return std::ranges::adjacent_find(labels) != labels.end();
}

class Product {
 public:
  Product(Rewrite& rewrite, const ops::Equation& equation) : rewrite_(rewrite), equation_(equation) {}

  // Classifies each axis as batch, row, column, or summed over in both operands; false if one is none of these.
  bool sort_axes() {
    const Labels &a = equation_.inputs[0], &b = equation_.inputs[1];
    if (repeats(a) || repeats(b)) return false;
    for (std::size_t input : {0, 1})
      for (std::size_t axis = 0; axis < equation_.inputs[input].size(); ++axis)
        if (rewrite_.type(input).shape[axis] != equation_.extents.at(equation_.inputs[input][axis])) return false;
    for (const std::string& label : equation_.output)
      (contains(a, label) && contains(b, label) ? batch_ : contains(a, label) ? rows_ : columns_).push_back(label);
    for (const std::string& label : equation_.summed()) {
      if (!contains(a, label) || !contains(b, label)) return false;
      summed_.push_back(label);
    }
    return !summed_.empty();
  }

  void write() {
    const ValueId a = as_matrices(0, rows_, summed_, "rows"), b = as_matrices(1, summed_, columns_, "columns");
    const ValueId product = op("MatMul", "product", {a, b});
    Labels order = batch_;
    order.insert(order.end(), rows_.begin(), rows_.end());
    order.insert(order.end(), columns_.begin(), columns_.end());
    const ValueId apart = op("Reshape", "apart", {product, shape("apart", extents(order))});
    const graph::NodeEdit edit = rewrite_.edit();
    edit->op = "Transpose";
    edit->inputs = {apart};
    edit->attributes = {{"perm", places(equation_.output, order)}};
  }

 private:
  ValueId op(const char* name, const std::string& stem, std::vector<ValueId> inputs,
             graph::Attributes attributes = {}) {
    const ValueId result =
        rewrite_.graph.add_value(fmt::format("{}/{}", rewrite_.node().name, stem), {rewrite_.type(0).dtype, {}});
    rewrite_.before.push_back(rewrite_.add(name, stem, std::move(inputs), {result}, std::move(attributes)));
    return result;
  }
  ValueId shape(const std::string& stem, const Shape& extents) {
    return rewrite_.graph.add_constant(fmt::format("{}/{}_shape", rewrite_.node().name, stem), int64_list(extents));
  }
  Shape extents(const Labels& labels) const {
    Shape extents;
    for (const std::string& label : labels) extents.push_back(equation_.extents.at(label));
    return extents;
  }
  // The position of each label in `among`.
  static std::vector<std::int64_t> places(const Labels& labels, const Labels& among) {
    std::vector<std::int64_t> places;
    for (const std::string& label : labels) places.push_back(std::ranges::find(among, label) - among.begin());
    return places;
  }

  // The input as [batch..., product of `first`, product of `second`].
  ValueId as_matrices(std::size_t input, const Labels& first, const Labels& second, const std::string& stem) {
    Labels order = batch_;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), second.begin(), second.end());
    const ValueId x = rewrite_.node().inputs[input];
    const ValueId turned = op("Transpose", stem + "_turned", {x}, {{"perm", places(order, equation_.inputs[input])}});
    Shape matrices = extents(batch_);
    matrices.push_back(element_count(extents(first)));
    matrices.push_back(element_count(extents(second)));
    return op("Reshape", stem, {turned, shape(stem, matrices)});
  }

  Rewrite& rewrite_;
  const ops::Equation& equation_;
  Labels batch_, rows_, columns_, summed_;
};

}  // namespace

Result<void> einsum_as_product(Rewrite& rewrite) {
  const auto text = rewrite.node().attributes.find("equation");
  if (rewrite.node().inputs.size() != 2 || !rewrite.has(0) || !rewrite.has(1) ||
      text == rewrite.node().attributes.end() || !std::holds_alternative<std::string>(text->second) ||
      rewrite.type(0).dtype != rewrite.type(1).dtype || !is_floating(rewrite.type(0).dtype) ||
      element_count(rewrite.type(0).shape) == 0 || element_count(rewrite.type(1).shape) == 0)
    return {};
  const auto equation = ops::equation_of({rewrite.graph, rewrite.node()});
  if (!equation) return {};  // infer reports it
  Product product(rewrite, *equation);
  if (product.sort_axes()) product.write();
  return {};
}

}  // namespace dovetail::import
