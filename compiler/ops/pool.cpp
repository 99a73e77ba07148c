// MaxPool and AveragePool.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/window.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Shape kernel_of(const Operands& operands) { return graph::ints_attribute(operands.node, "kernel_shape", {}); }

bool counts_pads(const Operands& operands) { return graph::int_attribute(operands.node, "count_include_pad", 0) != 0; }

Axes output_axes(const Operands& operands) { return image_axes(operands.output(0).shape); }

Result<Types> infer_pool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Window window, make_window(operands, kernel_of(operands)));
  if (graph::int_attribute(operands.node, "storage_order", 0) != 0)
    return refuse(operands, "storage_order is not 0, which only concerns the second output", "drop the attribute");
  if (!counts_pads(operands)) DOVETAIL_TRY(require_filled_windows(operands, window));
  const graph::TensorType& x = operands.type(0);
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  return Types{{x.dtype, std::move(shape)}};
}

// Reduces each window of the padded input in block `block`. The pads are the reducer's identity.
loops::Buffer reduce_windows(Naive& program, const Operands& operands, const Window& whole, DType wide,
                             const tensor::Reducer& reducer) {
  const Window window = whole.clipped();
  const loops::Buffer& x = program.in(0);
  const loops::Buffer padded = pad_spatial(program, x, window, reducer.identity({x->dtype})[0]);
  return program.reduce(
      program.block(), wide, output_axes(operands), spatial_axes(window.kernel, "k"), reducer,
      [&](const Indices& i, const Indices& r) {
        return loops::cast(wide, loops::load(padded, window_indices(window, {i[0], i[1]}, std::span(i).subspan(2), r)));
      });
}

Result<loops::Program> define_max_pool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Window window, make_window(operands, kernel_of(operands)));
  Naive program(operands);
  return program.finish({reduce_windows(program, operands, window, operands.type(0).dtype, tensor::max_reducer())});
}

// How many taps of the window at `position` count: those in the input, or with count_include_pad those in input and
// pads, but never those that ceil_mode lets hang over the end pads. Null where all do at every position.
Expr counted_taps(const Window& window, std::size_t axis, const Expr& position, bool include_pads) {
  const std::int64_t low = include_pads ? 0 : window.pad_begin[axis];  // in padded coordinates
  const std::int64_t high = window.pad_begin[axis] + window.input[axis] + (include_pads ? window.pad_end[axis] : 0);
  if (low == 0 && window.touched(axis) <= high) return nullptr;
  const std::int64_t stride = window.strides[axis], dilation = window.dilations[axis];
  const Expr start = position * stride;
  // Taps k with low <= start + k * dilation < high.
  const auto ceil_div = [&](const Expr& value) {
    return dilation == 1 ? value : loops::floor_div(value + (dilation - 1), dilation);
  };
  const Expr zero = tensor::index(0);
  const Expr first = tensor::maximum(ceil_div(tensor::index(low) - start), zero);
  const Expr last = tensor::minimum(ceil_div(tensor::index(high) - start), tensor::index(window.kernel[axis]));
  return tensor::maximum(last - first, zero);
}

Result<loops::Program> define_average_pool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Window window, make_window(operands, kernel_of(operands)));
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  const loops::Buffer sum = reduce_windows(program, operands, window, wide, tensor::sum_reducer());
  return program.finish({program.compute("average", dtype, output_axes(operands), [&](const Indices& i) {
    std::int64_t full = 1;
    Expr varying;
    for (std::size_t axis = 0; axis < window.rank(); ++axis) {
      if (const Expr taps = counted_taps(window, axis, i[axis + 2], counts_pads(operands))) {
        varying = varying ? varying * taps : taps;
      } else {
        full *= window.kernel[axis];
      }
    }
    const Expr count = varying ? loops::cast(wide, full == 1 ? varying : varying * full)
                               : loops::constant(static_cast<double>(full), wide);
    return loops::cast(dtype, tensor::divide(loops::load(sum, i), count));
  })});
}

OpDef pool(std::string_view op, DTypeSet types, Result<loops::Program> (*define)(const Operands&),
           std::string_view own_attribute) {
  std::vector<AttributeRule> attributes =
      window_attributes({{"ceil_mode", AttributeKind::integer}, {own_attribute, AttributeKind::integer}});
  for (AttributeRule& rule : attributes)
    if (rule.name == "kernel_shape") rule.presence = Presence::required;
  return {op, Category::complex_out_fusable, infer_pool, define, {}, {{{"X", types}}, std::move(attributes)}};
}

}  // namespace

std::vector<OpDef> pool_ops() {
  return {pool("AveragePool", kFloat, define_average_pool, "count_include_pad"),
          pool("MaxPool", kFloat | kByte, define_max_pool, "storage_order")};
}

}  // namespace dovetail::ops
