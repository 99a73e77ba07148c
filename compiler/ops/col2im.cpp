// Col2Im: an image as the sum of its blocks, which are the columns of a matrix, one per position of a sliding window.
#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

// One entry per spatial axis. `window` describes a convolution over the image whose output positions are the columns.
struct Columns {
  Shape image, block, strides, dilations, pad_begin, positions;
};

Result<Columns> columns_of(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  Columns c;
  c.image = integers_of(*operands.constant(1));
  c.block = integers_of(*operands.constant(2));
  const std::size_t rank = c.image.size();
  c.strides = graph::ints_attribute(operands.node, "strides", Shape(rank, 1));
  c.dilations = graph::ints_attribute(operands.node, "dilations", Shape(rank, 1));
  const Shape pads = graph::ints_attribute(operands.node, "pads", Shape(2 * rank, 0));
  if (rank == 0 || c.block.size() != rank || c.strides.size() != rank || c.dilations.size() != rank ||
      pads.size() != 2 * rank || x.size() != 3)
    return refuse(
        operands,
        fmt::format("the shapes do not match: input {}, image_shape [{}], block_shape [{}], strides [{}], dilations "
                    "[{}], pads [{}]",
                    to_string(x), join(c.image), join(c.block), join(c.strides), join(c.dilations), join(pads)),
        "the input must be [batch, channels * block, columns]; the lists must have one entry per spatial axis (pads: "
        "two)");
  std::int64_t taps = 1, columns = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    for (const std::int64_t value : {c.image[d], c.block[d], c.strides[d], c.dilations[d]})
      if (value < 1 || value > INT32_MAX)
        return refuse(operands,
                      fmt::format("the value {} on spatial axis {} must be from 1 to {}", value, d, INT32_MAX),
                      "fix the exporter");
    c.pad_begin.push_back(pads[d]);
    const std::int64_t slack = c.image[d] + pads[d] + pads[rank + d] - (c.block[d] - 1) * c.dilations[d] - 1;
    c.positions.push_back(slack < 0 ? 0 : slack / c.strides[d] + 1);
    taps *= c.block[d];
    columns *= c.positions[d];
  }
  if (x[1] % taps != 0 || x[2] != columns)
    return refuse(
        operands,
        fmt::format("input has shape {}, for blocks of {} elements at {} positions", to_string(x), taps, columns),
        "its second extent must be a multiple of the block's elements, its third the number of positions");
  return c;
}

Result<Types> infer_col2im(const Operands& operands) {
  DOVETAIL_ASSIGN(const Columns c, columns_of(operands));
  const Shape& x = operands.type(0).shape;
  Shape shape{x[0], x[1] / element_count(c.block)};
  shape.insert(shape.end(), c.image.begin(), c.image.end());
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_col2im(const Operands& operands) {
  DOVETAIL_ASSIGN(const Columns c, columns_of(operands));
  const graph::TensorType& y = operands.output(0);
  const DType wide = accumulator(y.dtype);
  Naive program(operands);
  const Axes axes = image_axes(y.shape);
  const loops::Buffer sum = program.reduce(
      program.block(), wide, axes, spatial_axes(c.block, "k"), tensor::sum_reducer(),
      [&](const Indices& i, const Indices& r) {
        // The window position whose tap r covers the element, if any.
        Expr met, row = i[1], column;
        for (std::size_t d = 0; d < c.image.size(); ++d) {
          const Expr start = i[d + 2] + c.pad_begin[d] - r[d] * c.dilations[d];
          const Expr position = c.strides[d] == 1 ? start : loops::floor_div(start, c.strides[d]);
          Expr here = loops::logical_and(tensor::less_equal(tensor::index(0), position),
                                         tensor::less(position, tensor::index(c.positions[d])));
          if (c.strides[d] > 1)
            here = loops::logical_and(here, tensor::equal(loops::floor_mod(start, c.strides[d]), tensor::index(0)));
          met = met ? loops::logical_and(met, here) : here;
          row = row * c.block[d] + r[d];
          const Expr inside = tensor::clamp(position, tensor::index(0), tensor::index(c.positions[d] - 1));
          column = column ? column * c.positions[d] + inside : inside;
        }
        return loops::select(met, loops::cast(wide, loops::load(program.in(0), {i[0], row, column})),
                             loops::constant(0, wide));
      });
  if (wide == y.dtype) return program.finish({sum});
  return program.finish({program.compute("result", y.dtype, axes,
                                         [&](const Indices& i) { return loops::cast(y.dtype, loops::load(sum, i)); })});
}

}  // namespace

std::vector<OpDef> col2im_ops() {
  constexpr auto integers = AttributeKind::integers;
  return {{.op = "Col2Im",
           .category = Category::complex_out_fusable,
           .infer = infer_col2im,
           .define = define_col2im,
           .compile_time_inputs = {1, 2},
           .signature = {{{"input", kNumber}, {"image_shape", kInt64}, {"block_shape", kInt64}},
                         {{"dilations", integers}, {"pads", integers}, {"strides", integers}}}}};
}

}  // namespace dovetail::ops
