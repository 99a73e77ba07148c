// Gather, GatherElements, GatherND: elements selected by an index tensor. Negative indices count from the end; an index
// out of range is an error of the program, detected at run time.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

// Every element of the result is an element of the data.
Result<Types> chosen_from_data(const Operands& operands, graph::TensorType y) {
  const Shape& data = operands.type(0).shape;
  if (element_count(data) == 0 && element_count(y.shape) != 0)
    return refuse(
        operands,
        fmt::format("data {} has no elements, but the result {} needs some", to_string(data), to_string(y.shape)),
        "give data with elements, or an empty index tensor");
  return Types{std::move(y)};
}

Result<Types> infer_gather(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  graph::TensorType y = operands.type(0);
  const Shape& indices = operands.type(1).shape;
  const auto place = y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  y.shape.insert(place, indices.begin(), indices.end());
  return chosen_from_data(operands, std::move(y));
}

Result<loops::Program> define_gather(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const std::size_t rank = operands.type(1).shape.size();
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const auto first = i.begin() + static_cast<std::ptrdiff_t>(axis), last = first + static_cast<std::ptrdiff_t>(rank);
    Indices source(i.begin(), first);
    source.push_back(element_index(program.in(1), Indices(first, last), operands.type(0).shape[axis]));
    source.insert(source.end(), last, i.end());
    return loops::load(program.in(0), source);
  });
}

Result<Types> infer_elements(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const Shape &x = operands.type(0).shape, &indices = operands.type(1).shape;
  bool fits = indices.size() == x.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits)
    return refuse(operands,
                  fmt::format("indices of shape {} exceed data of shape {} on another axis than {}", to_string(indices),
                              to_string(x), axis),
                  "both must have the same rank, and indices must not have larger extents");
  return chosen_from_data(operands, {operands.type(0).dtype, indices});
}

Result<loops::Program> define_elements(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  Naive program(operands);
  return program.map([&](const Indices& i) {
    return loops::load(program.in(0),
                       with_index(i, axis, element_index(program.in(1), i, operands.type(0).shape[axis])));
  });
}

std::size_t batch_dims(const Operands& operands) {
  return static_cast<std::size_t>(graph::int_attribute(operands.node, "batch_dims", 0));
}

Result<Types> infer_nd(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &indices = operands.type(1).shape;
  const std::size_t batch = batch_dims(operands);
  if (indices.empty() || batch >= indices.size() || batch + static_cast<std::size_t>(indices.back()) > x.size())
    return refuse(operands,
                  fmt::format("indices {} with batch_dims {} cannot address data {} of rank {}", to_string(indices),
                              batch, to_string(x), x.size()),
                  "batch_dims plus the last extent of the indices may not exceed the rank of the data");
  for (std::size_t i = 0; i < batch; ++i)
    if (x[i] != indices[i])
      return refuse(operands,
                    fmt::format("batch axis {} has extent {} in the data, but {} in the indices", i, x[i], indices[i]),
                    "make them equal");
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(batch) + indices.back(), x.end());
  return chosen_from_data(operands, {operands.type(0).dtype, std::move(shape)});
}

Result<loops::Program> define_nd(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &indices = operands.type(1).shape;
  const std::size_t batch = batch_dims(operands);
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const auto middle = i.begin() + static_cast<std::ptrdiff_t>(indices.size() - 1);
    Indices source(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch));
    for (std::int64_t k = 0; k < indices.back(); ++k) {
      Indices place(i.begin(), middle);
      place.push_back(tensor::index(k));
      source.push_back(element_index(program.in(1), place, x[batch + static_cast<std::size_t>(k)]));
    }
    source.insert(source.end(), middle, i.end());
    return loops::load(program.in(0), source);
  });
}

}  // namespace

std::vector<OpDef> gather_ops() {
  const AttributeRule axis{"axis", AttributeKind::integer};
  return {
      {"Gather", Category::injective, infer_gather, define_gather, {}, {{{"data"}, {"indices", kIndex}}, {axis}}},
      {"GatherElements",
       Category::injective,
       infer_elements,
       define_elements,
       {},
       {{{"data"}, {"indices", kIndex}}, {axis}}},
      {"GatherND",
       Category::injective,
       infer_nd,
       define_nd,
       {},
       {{{"data"}, {"indices", kInt64}}, {{"batch_dims", AttributeKind::integer}}}},
  };
}

}  // namespace dovetail::ops
