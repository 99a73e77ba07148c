// MaxUnpool: zeros, with the input's elements at the positions given by the indices of a MaxPool.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

// The shape before pooling, which the indices refer to.
Result<Shape> pooled_shape(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  const Shape kernel = graph::ints_attribute(operands.node, "kernel_shape", {});
  const std::size_t rank = kernel.size();
  const Shape strides = graph::ints_attribute(operands.node, "strides", Shape(rank, 1)),
              pads = graph::ints_attribute(operands.node, "pads", Shape(2 * rank, 0));
  if (rank == 0 || x.size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank)
    return refuse(
        operands,
        fmt::format("the shapes do not match: input {}, kernel_shape [{}], strides [{}], pads [{}]", to_string(x),
                    join(kernel), join(strides), join(pads)),
        "the input must be [batch, channels, spatial...]; the lists must have one entry per spatial axis (pads: two)");
  Shape shape{x[0], x[1]};
  for (std::size_t d = 0; d < rank; ++d) {
    for (const std::int64_t value : {kernel[d], strides[d], pads[d] + 1, pads[rank + d] + 1})
      if (value < 1 || value > INT32_MAX)
        return refuse(operands, fmt::format("a kernel, stride or pad is out of range on spatial axis {}", d),
                      "fix the exporter");
    shape.push_back((x[d + 2] - 1) * strides[d] - pads[d] - pads[rank + d] + kernel[d]);
    if (shape.back() < 1)
      return refuse(operands, fmt::format("spatial axis {1} would have extent {0}", shape.back(), d),
                    "use smaller pads");
  }
  return shape;
}

Result<Types> infer_max_unpool(const Operands& operands) {
  DOVETAIL_ASSIGN(Shape shape, pooled_shape(operands));
  if (operands.type(1).shape != operands.type(0).shape)
    return refuse(operands,
                  fmt::format("indices has shape {}, input {}", to_string(operands.type(1).shape),
                              to_string(operands.type(0).shape)),
                  "both must have the same shape");
  if (operands.has(2)) {
    const std::vector<std::int64_t> requested = integers_of(*operands.constant(2));
    bool fits = requested.size() == shape.size();
    for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = requested[d] >= shape[d];
    if (!fits)
      return refuse(operands,
                    fmt::format("output_shape is [{}], the pooling implies {}", join(requested), to_string(shape)),
                    "no extent may be smaller than the implied one");
    shape = requested;
  }
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_max_unpool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Shape pooled, pooled_shape(operands));
  const graph::TensorType& y = operands.output(0);
  Naive program(operands);
  const loops::Buffer result = program.declare("unpooled", y.dtype, y.shape);
  const auto axes_of = [](const Shape& shape, loops::IterKind kind) {
    std::vector<tensor::Definition::UpdateAxis> axes;
    for (const Axis& axis : image_axes(shape)) axes.push_back({axis.name, axis.extent, kind});
    return axes;
  };
  program.update("zero", axes_of(y.shape, loops::IterKind::spatial),
                 [&](const Indices& i) { return loops::store(result, i, loops::constant(0, y.dtype)); });
  program.update(program.block(), axes_of(operands.type(0).shape, loops::IterKind::ordered), [&](const Indices& i) {
    loops::Expr rest = loops::load(program.in(1), i);
    Indices place(pooled.size());
    for (std::size_t d = pooled.size(); d-- > 0; rest = loops::floor_div(rest, pooled[d]))
      place[d] = d == 0 ? rest : loops::floor_mod(rest, pooled[d]);
    return loops::store(result, place, loops::load(program.in(0), i));
  });
  return program.finish({result});
}

}  // namespace

std::vector<OpDef> max_unpool_ops() {
  constexpr auto integers = AttributeKind::integers;
  return {{.op = "MaxUnpool",
           .category = Category::opaque,
           .infer = infer_max_unpool,
           .define = define_max_unpool,
           .compile_time_inputs = {2},
           .signature = {{{"X", kFloat}, {"I", kInt64}, {"output_shape", kInt64, 0, Presence::optional}},
                         {{"kernel_shape", integers, Presence::required}, {"pads", integers}, {"strides", integers}}}}};
}

}  // namespace dovetail::ops
