// GlobalAveragePool, GlobalLpPool and GlobalMaxPool: reductions over all spatial axes, which remain with extent 1.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/lp_norm.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_global_pool(const Operands& operands) {
  const graph::TensorType& x = operands.type(0);
  if (x.shape.size() < 3 || element_count(x.shape) == 0)
    return refuse(operands, fmt::format("input has shape {}", to_string(x.shape)),
                  "the input must be [batch, channels, spatial...] and not empty");
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  return Types{{x.dtype, std::move(shape)}};
}

loops::Buffer reduce_image(
    Naive& program, const Operands& operands, DType wide, const tensor::Reducer& reducer,
    const std::function<loops::Expr(const loops::Expr&)>& value = [](const loops::Expr& element) { return element; }) {
  const Shape& shape = operands.type(0).shape;
  const Axes window = spatial_axes(Shape(shape.begin() + 2, shape.end()), "k");
  return program.reduce(program.block(), wide, image_axes(operands.output(0).shape), window, reducer,
                        [&](const Indices& i, const Indices& r) {
                          Indices element{i[0], i[1]};
                          element.insert(element.end(), r.begin(), r.end());
                          return value(loops::cast(wide, loops::load(program.in(0), element)));
                        });
}

Result<loops::Program> define_max_global_pool(const Operands& operands) {
  Naive program(operands);
  return program.finish({reduce_image(program, operands, operands.type(0).dtype, tensor::max_reducer())});
}

Result<loops::Program> define_average_global_pool(const Operands& operands) {
  Naive program(operands);
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const double count = static_cast<double>(element_count(x.shape) / (x.shape[0] * x.shape[1]));
  const loops::Buffer sum = reduce_image(program, operands, wide, tensor::sum_reducer());
  return program.finish(
      {program.compute("average", x.dtype, image_axes(operands.output(0).shape), [&](const Indices& i) {
        return loops::cast(x.dtype, tensor::divide(loops::load(sum, i), loops::constant(count, wide)));
      })});
}

Result<Types> infer_global_lp_pool(const Operands& operands) {
  if (const std::int64_t p = graph::int_attribute(operands.node, "p", 2); p < 1)
    return refuse(operands, fmt::format("p is {}, but must be at least 1", p), "fix the exporter");
  return infer_global_pool(operands);
}

Result<loops::Program> define_global_lp_pool(const Operands& operands) {
  Naive program(operands);
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  const std::int64_t p = graph::int_attribute(operands.node, "p", 2);
  const loops::Buffer sum = reduce_image(program, operands, wide, tensor::sum_reducer(),
                                         [&](const loops::Expr& element) { return lp_power(element, p); });
  return program.finish({program.compute("root", dtype, image_axes(operands.output(0).shape), [&](const Indices& i) {
    return loops::cast(dtype, lp_root(loops::load(sum, i), p));
  })});
}

}  // namespace

std::vector<OpDef> global_pool_ops() {
  return {
      {"GlobalAveragePool",
       Category::complex_out_fusable,
       infer_global_pool,
       define_average_global_pool,
       {},
       {{{"X", kFloat}}}},
      {"GlobalLpPool",
       Category::complex_out_fusable,
       infer_global_lp_pool,
       define_global_lp_pool,
       {},
       {{{"X", kFloat}}, {{"p", AttributeKind::integer}}}},
      {"GlobalMaxPool",
       Category::complex_out_fusable,
       infer_global_pool,
       define_max_global_pool,
       {},
       {{{"X", kFloat | kByte}}}},
  };
}

}  // namespace dovetail::ops
