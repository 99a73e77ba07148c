// ScatterElements, ScatterND, TensorScatter: a copy of the data with updates written, in order, to the positions given
// by an index tensor. Negative indices count from the end; an index out of range is an error of the program, detected
// at run time.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using loops::IterKind;

Result<void> check_reduction(const Operands& operands) {
  const std::string reduction = graph::string_attribute(operands.node, "reduction", "none");
  if (reduction == "none") return {};
  if (reduction != "add" && reduction != "mul" && reduction != "min" && reduction != "max")
    return refuse(operands, fmt::format("reduction is \"{}\", but must be none, add, mul, min or max", reduction),
                  "fix the exporter");
  if (operands.type(0).dtype == DType::boolean)
    return refuse(operands, fmt::format("reduction \"{}\" is not possible for bool", reduction),
                  "reduce numbers, or use none");
  return {};
}

Expr reduced(const std::string& reduction, const Expr& before, const Expr& update) {
  if (reduction == "add") return before + update;
  if (reduction == "mul") return before * update;
  if (reduction == "min") return tensor::minimum(before, update);
  return reduction == "max" ? tensor::maximum(before, update) : update;
}

// A copy of the data, and a block over `axes` that stores update(i) at place(i) of the copy.
Result<loops::Program> scatter(const Operands& operands, const std::vector<tensor::Definition::UpdateAxis>& axes,
                               const std::function<Indices(Naive&, const Indices&)>& place,
                               const std::function<Expr(Naive&, const Indices&)>& update) {
  const graph::TensorType& x = operands.type(0);
  const std::string reduction = graph::string_attribute(operands.node, "reduction", "none");
  Naive program(operands);
  const loops::Buffer result = program.declare("scattered", x.dtype, x.shape);
  std::vector<tensor::Definition::UpdateAxis> all;
  for (const Axis& axis : tensor_axes(x.shape)) all.push_back({axis.name, axis.extent});
  program.update("copy", all, [&](const Indices& i) { return loops::store(result, i, loops::load(program.in(0), i)); });
  program.update(program.block(), axes, [&](const Indices& i) {
    const Indices at = place(program, i);
    const Expr value = update(program, i);
    return loops::store(result, at, reduction == "none" ? value : reduced(reduction, loops::load(result, at), value));
  });
  return program.finish({result});
}

// Updates along the axes in `in_order` may write the same element; along other axes they never do.
std::vector<tensor::Definition::UpdateAxis> update_axes(const Shape& shape,
                                                        const std::function<bool(std::size_t)>& in_order) {
  std::vector<tensor::Definition::UpdateAxis> axes;
  const Axes named = tensor_axes(shape);
  for (std::size_t i = 0; i < shape.size(); ++i)
    axes.push_back({named[i].name, named[i].extent, in_order(i) ? IterKind::ordered : IterKind::spatial});
  return axes;
}

Result<Types> infer_scatter_elements(const Operands& operands) {
  DOVETAIL_TRY(check_reduction(operands));
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const Shape &x = operands.type(0).shape, &indices = operands.type(1).shape, &updates = operands.type(2).shape;
  if (indices != updates)
    return refuse(operands, fmt::format("indices has shape {}, updates {}", to_string(indices), to_string(updates)),
                  "both must have the same shape");
  bool fits = indices.size() == x.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || indices[i] <= x[i];
  if (!fits)
    return refuse(operands,
                  fmt::format("indices of shape {} exceed data of shape {} on another axis than {}", to_string(indices),
                              to_string(x), axis),
                  "both must have the same rank, and indices must not have larger extents");
  return Types{operands.type(0)};
}

Result<loops::Program> define_scatter_elements(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const std::int64_t extent = operands.type(0).shape[axis];
  return scatter(
      operands, update_axes(operands.type(1).shape, [&](std::size_t i) { return i == axis; }),
      [&](Naive& program, const Indices& i) { return with_index(i, axis, element_index(program.in(1), i, extent)); },
      [](Naive& program, const Indices& i) { return loops::load(program.in(2), i); });
}

Result<Types> infer_scatter_nd(const Operands& operands) {
  DOVETAIL_TRY(check_reduction(operands));
  const Shape &x = operands.type(0).shape, &indices = operands.type(1).shape, &updates = operands.type(2).shape;
  const std::int64_t depth = indices.empty() ? 0 : indices.back();
  if (indices.empty() || depth > static_cast<std::int64_t>(x.size()))
    return refuse(
        operands,
        fmt::format("indices {} cannot address data {} of rank {}", to_string(indices), to_string(x), x.size()),
        "the last extent of the indices may not exceed the rank of the data");
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), x.begin() + depth, x.end());
  if (updates != expected)
    return refuse(operands, fmt::format("updates has shape {}, expected {}", to_string(updates), to_string(expected)),
                  "there must be one slice of the data for each index tuple");
  return Types{operands.type(0)};
}

Result<loops::Program> define_scatter_nd(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &indices = operands.type(1).shape;
  const std::size_t tuples = indices.size() - 1;
  return scatter(
      operands, update_axes(operands.type(2).shape, [&](std::size_t i) { return i < tuples; }),
      [&](Naive& program, const Indices& i) {
        const auto middle = i.begin() + static_cast<std::ptrdiff_t>(tuples);
        Indices target;
        for (std::int64_t k = 0; k < indices.back(); ++k) {
          Indices place(i.begin(), middle);
          place.push_back(tensor::index(k));
          target.push_back(element_index(program.in(1), place, x[static_cast<std::size_t>(k)]));
        }
        target.insert(target.end(), middle, i.end());
        return target;
      },
      [](Naive& program, const Indices& i) { return loops::load(program.in(2), i); });
}

// A cache: in each batch, consecutive updates are written along `axis` from a first index on, wrapping around if
// circular.
bool is_circular(const Operands& operands) {
  return graph::string_attribute(operands.node, "mode", "linear") == "circular";
}

Result<Types> infer_tensor_scatter(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -2));
  const std::string mode = graph::string_attribute(operands.node, "mode", "linear");
  if (mode != "linear" && mode != "circular")
    return refuse(operands, fmt::format("mode is \"{}\", but must be linear or circular", mode), "fix the exporter");
  const Shape &cache = operands.type(0).shape, &update = operands.type(1).shape;
  bool fits = axis > 0 && update.size() == cache.size();
  for (std::size_t i = 0; fits && i < cache.size(); ++i)
    fits = i == axis ? update[i] <= cache[i] : update[i] == cache[i];
  if (!fits)
    return refuse(
        operands,
        fmt::format("update has shape {}, the cache {}, along axis {}", to_string(update), to_string(cache), axis),
        "the axis must not be the first; the update's extent must not be larger there, and equal elsewhere");
  if (operands.has(2) && operands.type(2).shape != Shape{cache[0]})
    return refuse(operands,
                  fmt::format("write_indices has shape {}, expected [{}]", to_string(operands.type(2).shape), cache[0]),
                  "give one first index per batch");
  return Types{operands.type(0)};
}

Result<loops::Program> define_tensor_scatter(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands, -2));
  const std::int64_t extent = operands.type(0).shape[axis];
  return scatter(
      operands, update_axes(operands.type(1).shape, [&](std::size_t i) { return i == axis; }),
      [&](Naive& program, const Indices& i) {
        if (!operands.has(2)) return i;
        const Expr at = loops::cast(DType::int64, loops::load(program.in(2), {i[0]})) + i[axis];
        return with_index(i, axis, is_circular(operands) ? loops::floor_mod(at, extent) : at);
      },
      [](Naive& program, const Indices& i) { return loops::load(program.in(1), i); });
}

}  // namespace

std::vector<OpDef> scatter_ops() {
  constexpr auto text = AttributeKind::text;
  const AttributeRule axis{"axis", AttributeKind::integer};
  return {{"ScatterElements",
           Category::opaque,
           infer_scatter_elements,
           define_scatter_elements,
           {},
           {{{"data", kAny, 'T'}, {"indices", kIndex}, {"updates", kAny, 'T'}}, {axis, {"reduction", text}}}},
          {"ScatterND",
           Category::opaque,
           infer_scatter_nd,
           define_scatter_nd,
           {},
           {{{"data", kAny, 'T'}, {"indices", kInt64}, {"updates", kAny, 'T'}}, {{"reduction", text}}}},
          {"TensorScatter",
           Category::opaque,
           infer_tensor_scatter,
           define_tensor_scatter,
           {},
           {{{"past_cache", kAny, 'T'}, {"update", kAny, 'T'}, {"write_indices", kInt64, 0, Presence::optional}},
            {axis, {"mode", text}}}}};
}

}  // namespace dovetail::ops
