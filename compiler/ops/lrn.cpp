// LRN: y = x / (bias + alpha / size * sum of squares over `size` neighboring channels)^beta.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_lrn(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  if (x.shape.size() < 2)
    return refuse(operands, fmt::format("input of shape {} has no channel axis", to_string(x.shape)),
                  "the input must be [batch, channels, ...]");
  if (const std::int64_t size = graph::int_attribute(operands.node, "size", 0); size < 1)
    return refuse(operands, fmt::format("size is {}, but must be at least 1", size), "fix the exporter");
  return Types{x};
}

Result<loops::Program> define_lrn(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const std::int64_t size = graph::int_attribute(operands.node, "size", 1), channels = x.shape[1];
  // For an even size, the larger half is after the channel. Neighbors outside the channels are skipped: even a size of
  // 2^31 costs only the existing ones.
  const std::int64_t farthest = std::max<std::int64_t>(channels - 1, 0), before = std::min((size - 1) / 2, farthest),
                     after = std::min(size - 1 - (size - 1) / 2, farthest);
  Naive program(operands);
  const Axes axes = image_axes(x.shape);
  const loops::Buffer squares = program.reduce(
      "squares", wide, axes, {{"k", before + 1 + after}}, tensor::product_sum_reducer(),
      [&](const Indices& i, const Indices& r) {
        Indices element = i;
        element[1] = i[1] + r[0] - before;
        const loops::Expr inside = loops::logical_and(tensor::less_equal(tensor::index(0), element[1]),
                                                      tensor::less(element[1], tensor::index(channels)));
        return loops::select(inside, tensor::square(loops::cast(wide, loops::load(program.in(0), element))),
                             loops::constant(0, wide));
      });
  const double alpha = graph::float_attribute(operands.node, "alpha", 1e-4),
               beta = graph::float_attribute(operands.node, "beta", 0.75);
  const double bias = graph::float_attribute(operands.node, "bias", 1);
  return program.finish({program.compute(program.block(), x.dtype, axes, [&](const Indices& i) {
    const loops::Expr scale = loops::constant(bias, wide) +
                              loops::constant(alpha / static_cast<double>(size), wide) * loops::load(squares, i);
    return loops::cast(x.dtype, tensor::divide(loops::cast(wide, loops::load(program.in(0), i)),
                                               tensor::power(scale, loops::constant(beta, wide))));
  })});
}

}  // namespace

std::vector<OpDef> lrn_ops() {
  constexpr auto real = AttributeKind::real;
  return {
      {.op = "LRN",
       .category = Category::opaque,
       .infer = infer_lrn,
       .define = define_lrn,
       .signature = {
           {{"X", kFloat}},
           {{"alpha", real}, {"beta", real}, {"bias", real}, {"size", AttributeKind::integer, Presence::required}}}}};
}

}  // namespace dovetail::ops
