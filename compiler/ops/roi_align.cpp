// RoiAlign: an image of fixed extents for each region of interest, whose elements are the average or maximum of
// interpolated sample points of the input.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using tensor::index;
using tensor::like;

// Sample points per axis and output element. No tensor bounds them: a model of a few bytes could request 2^126.
constexpr std::int64_t kMostSamples = 1024;

struct RoiAttributes {
  std::int64_t height, width, samples;
  double scale;
  bool half_pixel, maximum;
};
RoiAttributes roi_attributes(const Operands& operands) {
  const graph::Node& node = operands.node;
  return {graph::int_attribute(node, "output_height", 1),
          graph::int_attribute(node, "output_width", 1),
          graph::int_attribute(node, "sampling_ratio", 0),
          graph::float_attribute(node, "spatial_scale", 1),
          graph::string_attribute(node, "coordinate_transformation_mode", "half_pixel") == "half_pixel",
          graph::string_attribute(node, "mode", "avg") == "max"};
}

Result<Types> infer_roi_align(const Operands& operands) {
  const RoiAttributes attributes = roi_attributes(operands);
  const Shape &x = operands.type(0).shape, &rois = operands.type(1).shape, &batches = operands.type(2).shape;
  if (x.size() != 4 || element_count(x) == 0 || rois.size() != 2 || rois[1] != 4 || batches != Shape{rois[0]})
    return refuse(
        operands,
        fmt::format("X has shape {}, rois {} and batch_indices {}", to_string(x), to_string(rois), to_string(batches)),
        "they must be [batch, channels, height, width], [regions, 4] and [regions]");
  const std::string mode = graph::string_attribute(operands.node, "mode", "avg"),
                    pixels = graph::string_attribute(operands.node, "coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") || (pixels != "half_pixel" && pixels != "output_half_pixel"))
    return refuse(operands, fmt::format("mode is \"{}\" and coordinate_transformation_mode \"{}\"", mode, pixels),
                  "the first must be avg or max, the second half_pixel or output_half_pixel");
  if (attributes.height < 1 || attributes.width < 1 || attributes.samples < 0)
    return refuse(
        operands,
        fmt::format("the output is {} x {}, with {} samples", attributes.height, attributes.width, attributes.samples),
        "the extents must be 1 or more");
  if (attributes.samples == 0)
    return refuse(operands,
                  "sampling_ratio is 0: the number of sample points would depend on the extents of each region",
                  "give a sampling_ratio; 2 is usual");
  if (attributes.samples > kMostSamples)
    return refuse(
        operands,
        fmt::format("sampling_ratio is {} > {}: each output element needs the square of this number of sample points",
                    attributes.samples, kMostSamples),
        "give a smaller sampling_ratio; 2 is usual");
  return Types{{operands.type(0).dtype, {rois[0], x[1], attributes.height, attributes.width}}};
}

// The two elements around a coordinate and their weights, which are zero for a coordinate outside the input. Up to one
// element outside, the coordinate is clamped to the border.
struct Between {
  Expr low, high, weight_low, weight_high;
};
Between between(const Expr& coordinate, std::int64_t extent) {
  const auto size = static_cast<double>(extent);
  const Expr inside = loops::logical_and(tensor::less_equal(like(-1, coordinate), coordinate),
                                         tensor::less_equal(coordinate, like(size, coordinate)));
  const Expr at = tensor::clamp(coordinate, like(0, coordinate), like(size - 1, coordinate));
  const Expr low = loops::cast(DType::int64, loops::unary(loops::UnaryOp::floor, at));
  const Expr t = at - loops::cast(coordinate->dtype, low), zero = like(0, coordinate);
  return {low, tensor::minimum(low + 1, index(extent - 1)), loops::select(inside, like(1, t) - t, zero),
          loops::select(inside, t, zero)};
}

Result<loops::Program> define_roi_align(const Operands& operands) {
  const RoiAttributes attributes = roi_attributes(operands);
  const graph::TensorType& x = operands.type(0);
  const DType wide = accumulator(x.dtype);
  const std::int64_t extents[] = {x.shape[2], x.shape[3]}, outputs[] = {attributes.height, attributes.width};
  Naive program(operands);
  // The coordinate along axis 0 (y) or 1 (x) of a sample: `place` is the output index, `sample` the number within it.
  const auto coordinate = [&](const Expr& roi, std::size_t axis, const Expr& place, const Expr& sample) {
    const auto bound = [&](std::int64_t column) {
      const Expr value = loops::cast(wide, loops::load(program.in(1), {roi, index(column)}));
      const Expr scaled = value * like(attributes.scale, value);
      return attributes.half_pixel ? scaled - like(0.5, scaled) : scaled;
    };
    const auto column = static_cast<std::int64_t>(1 - axis);
    const Expr start = bound(column), whole = bound(column + 2) - start;
    // Without half_pixel, regions have at least the extent of one element.
    const Expr extent = attributes.half_pixel ? whole : tensor::maximum(whole, like(1, whole));
    const Expr bin = tensor::divide(extent, like(static_cast<double>(outputs[axis]), extent));
    const Expr inner = tensor::divide((loops::cast(wide, sample) + like(0.5, bin)) * bin,
                                      like(static_cast<double>(attributes.samples), bin));
    return start + loops::cast(wide, place) * bin + inner;
  };
  const auto sampled = [&](const Indices& i, const Indices& r) {
    const Between y = between(coordinate(i[0], 0, i[2], r[0]), extents[0]),
                  z = between(coordinate(i[0], 1, i[3], r[1]), extents[1]);
    const Expr batch = loops::cast(DType::int64, loops::load(program.in(2), {i[0]}));
    const auto corner = [&](const Expr& wy, const Expr& wx, const Expr& py, const Expr& px) {
      return wy * wx * loops::cast(wide, loops::load(program.in(0), {batch, i[1], py, px}));
    };
    const Expr a = corner(y.weight_low, z.weight_low, y.low, z.low),
               b = corner(y.weight_low, z.weight_high, y.low, z.high),
               c = corner(y.weight_high, z.weight_low, y.high, z.low),
               d = corner(y.weight_high, z.weight_high, y.high, z.high);
    // The standard takes the maximum of the weighted corners, not of the interpolated values.
    return attributes.maximum ? tensor::maximum(tensor::maximum(a, b), tensor::maximum(c, d)) : a + b + c + d;
  };
  const Axes axes{
      {"r", operands.output(0).shape[0]}, {"c", x.shape[1]}, {"y", attributes.height}, {"x", attributes.width}};
  const loops::Buffer pooled =
      program.reduce(program.block(), wide, axes, {{"ky", attributes.samples}, {"kx", attributes.samples}},
                     attributes.maximum ? tensor::max_reducer() : tensor::sum_reducer(), sampled);
  return program.finish({program.compute("result", x.dtype, axes, [&](const Indices& i) {
    const Expr value = loops::load(pooled, i);
    const double count = static_cast<double>(attributes.samples) * static_cast<double>(attributes.samples);
    return loops::cast(x.dtype, attributes.maximum ? value : tensor::divide(value, like(count, value)));
  })});
}

}  // namespace

std::vector<OpDef> roi_align_ops() {
  constexpr auto integer = AttributeKind::integer, text = AttributeKind::text;
  return {{"RoiAlign",
           Category::complex_out_fusable,
           infer_roi_align,
           define_roi_align,
           {},
           {{{"X", kFloat, 'T'}, {"rois", kFloat, 'T'}, {"batch_indices", kInt64}},
            {{"coordinate_transformation_mode", text},
             {"mode", text},
             {"output_height", integer},
             {"output_width", integer},
             {"sampling_ratio", integer},
             {"spatial_scale", AttributeKind::real}}}}};
}

}  // namespace dovetail::ops
