// MaxPool with the indices of the maxima, AveragePool, LpPool.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/lp_norm.h"
#include "compiler/ops/window.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

Shape kernel_of(const Operands& operands) { return graph::ints_attribute(operands.node, "kernel_shape", {}); }

std::int64_t lp_exponent(const Operands& operands) { return graph::int_attribute(operands.node, "p", 2); }

bool counts_pads(const Operands& operands) { return graph::int_attribute(operands.node, "count_include_pad", 0) != 0; }

Axes output_axes(const Operands& operands) { return image_axes(operands.output(0).shape); }

Result<Types> infer_pool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Window window, make_window(operands, kernel_of(operands)));
  const std::string& op = operands.node.op;
  if (op != "LpPool" && !counts_pads(operands)) DOVETAIL_TRY(require_filled_windows(operands, window));
  if (op == "LpPool" && lp_exponent(operands) < 1)
    return refuse(operands, fmt::format("p is {}, but must be at least 1", lp_exponent(operands)), "fix the exporter");
  if (const std::int64_t order = graph::int_attribute(operands.node, "storage_order", 0); order != 0 && order != 1)
    return refuse(operands, fmt::format("storage_order is {}, but must be 0 or 1", order), "fix the exporter");
  const graph::TensorType& x = operands.type(0);
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  Types types{{x.dtype, shape}, {DType::int64, shape}};
  types.resize(operands.node.outputs.size());
  return types;
}

// Reduces value(element) over each window of the padded input in block `block`. The pads are the reducer's identity.
loops::Buffer reduce_windows(
    Naive& program, const Operands& operands, const Window& whole, DType wide, const tensor::Reducer& reducer,
    const std::function<Expr(const Expr&)>& value = [](const Expr& element) { return element; }) {
  const Window window = whole.clipped();
  const loops::Buffer& x = program.in(0);
  const loops::Buffer padded = pad_spatial(program, x, window, reducer.identity({x->dtype})[0]);
  return program.reduce(
      program.block(), wide, output_axes(operands), spatial_axes(window.kernel, "k"), reducer,
      [&](const Indices& i, const Indices& r) {
        return value(
            loops::cast(wide, loops::load(padded, window_indices(window, {i[0], i[1]}, std::span(i).subspan(2), r))));
      });
}

// The index of each window's first maximum: the number of the element in the whole input, with the spatial axes in
// row-major order, or with storage_order 1 in column-major order.
loops::Buffer places_of_maxima(Naive& program, const Operands& operands, const Window& whole) {
  const Window window = whole.clipped();
  const graph::TensorType& x = operands.type(0);
  const std::int64_t image = element_count(window.input);
  const std::vector<loops::Buffer> best = program.reduce_tuple(
      {"best", "place"}, {x.dtype, DType::int64}, output_axes(operands), spatial_axes(window.kernel, "k"),
      tensor::arg_max_reducer(), [&](const Indices& i, const Indices& r) {
        const Indices taps = window_indices(window, {}, std::span(i).subspan(2), r);
        Indices element{i[0], i[1]};
        Expr inside, place;
        for (std::size_t d = 0; d < window.rank(); ++d) {
          const Expr at = taps[d] - window.pad_begin[d], last = tensor::index(window.input[d] - 1);
          const Expr here = loops::logical_and(tensor::less_equal(tensor::index(0), at), tensor::less_equal(at, last));
          inside = inside ? loops::logical_and(inside, here) : here;
          element.push_back(tensor::clamp(at, tensor::index(0), last));
          place = place ? place * window.input[d] + element.back() : element.back();
        }
        const auto outside = tensor::arg_max_reducer().identity({x.dtype, DType::int64});
        return std::vector<Expr>{loops::select(inside, loops::load(program.in(0), element), outside[0]),
                                 loops::select(inside, place, outside[1])};
      });
  const bool first_fastest = graph::int_attribute(operands.node, "storage_order", 0) == 1;
  return program.compute("number", DType::int64, output_axes(operands), [&](const Indices& i) {
    const Expr before = (i[0] * x.shape[1] + i[1]) * image;
    Expr rest = loops::load(best[1], i);
    if (!first_fastest) return before + rest;
    // Coordinates from the last axis on, each times the product of the extents of the axes before it.
    Expr number;
    std::int64_t weight = image;
    for (std::size_t d = window.rank(); d-- > 0; rest = loops::floor_div(rest, window.input[d])) {
      weight /= window.input[d];
      const Expr part = (d == 0 ? rest : loops::floor_mod(rest, window.input[d])) * weight;
      number = number ? number + part : part;
    }
    return before + number;
  });
}

Result<loops::Program> define_max_pool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Window window, make_window(operands, kernel_of(operands)));
  Naive program(operands);
  std::vector<loops::Buffer> outputs{
      reduce_windows(program, operands, window, operands.type(0).dtype, tensor::max_reducer())};
  if (operands.node.outputs.size() > 1) outputs.push_back(places_of_maxima(program, operands, window));
  return program.finish(outputs);
}

Result<loops::Program> define_lp_pool(const Operands& operands) {
  DOVETAIL_ASSIGN(const Window window, make_window(operands, kernel_of(operands)));
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  const std::int64_t p = lp_exponent(operands);
  Naive program(operands);
  const loops::Buffer sum = reduce_windows(program, operands, window, wide, tensor::sum_reducer(),
                                           [&](const Expr& element) { return lp_power(element, p); });
  return program.finish({program.compute("root", dtype, output_axes(operands), [&](const Indices& i) {
    return loops::cast(dtype, lp_root(loops::load(sum, i), p));
  })});
}

// The number of counted taps of the window at `position`: those in the input, or with count_include_pad those in input
// and pads, but never those beyond the end pads (ceil_mode). Null if all taps count at every position.
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
           std::string_view own_attribute, int outputs = 1) {
  std::vector<AttributeRule> attributes =
      window_attributes({{"ceil_mode", AttributeKind::integer}, {own_attribute, AttributeKind::integer}});
  for (AttributeRule& rule : attributes)
    if (rule.name == "kernel_shape") rule.presence = Presence::required;
  return {op, Category::complex_out_fusable, infer_pool, define, {}, {{{"X", types}}, std::move(attributes), outputs}};
}

}  // namespace

std::vector<OpDef> pool_ops() {
  return {pool("AveragePool", kFloat, define_average_pool, "count_include_pad"),
          pool("LpPool", kFloat, define_lp_pool, "p"),
          pool("MaxPool", kFloat | kByte, define_max_pool, "storage_order", 2)};
}

}  // namespace dovetail::ops
