// CenterCropPad: crops or zero-pads each axis to an extent, equally at both ends; the larger half of an odd difference
// is at the end.
#include <numeric>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_center_crop_pad(const Operands& operands) {
  graph::TensorType y = operands.type(0);
  std::vector<std::int64_t> all(y.shape.size());
  std::iota(all.begin(), all.end(), 0);
  DOVETAIL_ASSIGN(const std::vector<std::size_t> axes,
                  normalize_axes(operands, graph::ints_attribute(operands.node, "axes", all), y.shape.size()));
  const std::vector<std::int64_t> extents = integers_of(*operands.constant(1));
  if (extents.size() != axes.size())
    return refuse(operands, fmt::format("shape has {} entries for {} axes", extents.size(), axes.size()),
                  "give one entry per axis");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (extents[k] < 0)
      return refuse(operands, fmt::format("extent {} of axis {} is invalid", extents[k], axes[k]),
                    "extents must be 0 or more");
    y.shape[axes[k]] = extents[k];
  }
  return Types{std::move(y)};
}

Result<loops::Program> define_center_crop_pad(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &y = operands.output(0).shape;
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices source = i;
    loops::Expr inside;
    for (std::size_t d = 0; d < x.size(); ++d) {
      if (x[d] > y[d]) source[d] = i[d] + (x[d] - y[d]) / 2;
      if (x[d] >= y[d]) continue;
      source[d] = i[d] - (y[d] - x[d]) / 2;
      const loops::Expr here = loops::logical_and(tensor::less_equal(tensor::index(0), source[d]),
                                                  tensor::less(source[d], tensor::index(x[d])));
      inside = inside ? loops::logical_and(inside, here) : here;
    }
    const loops::Expr zero = loops::constant(0, operands.type(0).dtype);
    if (element_count(x) == 0) return zero;
    const loops::Expr element = loops::load(program.in(0), source);
    return inside ? loops::select(inside, element, zero) : element;
  });
}

}  // namespace

std::vector<OpDef> center_crop_pad_ops() {
  return {{.op = "CenterCropPad",
           .category = Category::injective,
           .infer = infer_center_crop_pad,
           .define = define_center_crop_pad,
           .compile_time_inputs = {1},
           .signature = {{{"input_data"}, {"shape", kIndex}}, {{"axes", AttributeKind::integers}}},
           .movement = Movement::pads}};
}

}  // namespace dovetail::ops
