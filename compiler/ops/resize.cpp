// Resize: nearest in one block; linear and cubic with one block per axis, since both are separable.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/interpolation.h"
#include "compiler/ops/list.h"
#include "compiler/ops/sampling.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;

std::string text(const Operands& operands, std::string_view name, std::string_view fallback) {
  return graph::string_attribute(operands.node, name, fallback);
}

// Input, output extent and scale of every axis.
struct Factors {
  Shape output;
  std::vector<double> scales;
};

Result<Factors> factors_of(const Operands& operands, const std::vector<std::size_t>& axes) {
  const Shape& x = operands.type(0).shape;
  Factors factors{x, std::vector<double>(x.size(), 1)};
  const bool by_scales = operands.has(2) && operands.constant(2)->count() > 0,
             by_sizes = operands.has(3) && operands.constant(3)->count() > 0;
  if (by_scales == by_sizes)
    return refuse(operands, fmt::format("{} of the inputs scales and sizes are given, expected 1", by_scales ? 2 : 0),
                  "give one of the two");
  const NdArray& given = *operands.constant(by_scales ? 2 : 3);
  if (given.count() != static_cast<std::int64_t>(axes.size()))
    return refuse(
        operands,
        fmt::format("{} has {} entries for {} axes", by_scales ? "scales" : "sizes", given.count(), axes.size()),
        "give one per axis");
  const std::string policy = text(operands, "keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return refuse(
        operands,
        fmt::format("keep_aspect_ratio_policy is \"{}\", but must be stretch, not_larger or not_smaller", policy),
        "fix the exporter");
  // Returns false if the extent is not representable.
  const auto set_extent = [&](std::size_t axis, double extent) {
    constexpr double kMost = 9007199254740992.0;  // 2^53: binary64 represents all integers up to it
    if (!(extent < kMost)) return false;
    factors.output[axis] = static_cast<std::int64_t>(extent);
    return true;
  };
  const auto too_large = [&](std::size_t axis) {
    return refuse(operands, fmt::format("axis {} of extent {} becomes 2^53 elements or longer", axis, x[axis]),
                  "fix the exporter");
  };
  double common = policy == "not_larger" ? HUGE_VAL : 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const double extent = static_cast<double>(x[axes[k]]), value = given.as_double(static_cast<std::int64_t>(k));
    const double scale = by_scales ? value : value / extent;
    if (!(scale > 0))
      return refuse(operands, fmt::format("scale {} on axis {} must be greater than 0", scale, axes[k]),
                    "fix the exporter");
    factors.scales[axes[k]] = scale;
    if (!set_extent(axes[k], by_scales ? std::floor(extent * value) : value)) return too_large(axes[k]);
    common = policy == "not_larger" ? std::min(common, scale) : std::max(common, scale);
  }
  if (by_sizes && policy != "stretch")
    for (const std::size_t axis : axes) {
      factors.scales[axis] = common;
      if (!set_extent(axis, std::floor(static_cast<double>(x[axis]) * common + 0.5))) return too_large(axis);
    }
  return factors;
}

Result<std::vector<Sampling>> samplings_of(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  std::vector<std::int64_t> all_axes;
  for (std::size_t i = 0; i < x.size(); ++i) all_axes.push_back(static_cast<std::int64_t>(i));
  DOVETAIL_ASSIGN(const std::vector<std::size_t> axes,
                  normalize_axes(operands, graph::ints_attribute(operands.node, "axes", all_axes), x.size()));
  DOVETAIL_ASSIGN(const Factors factors, factors_of(operands, axes));
  const std::string mode = text(operands, "coordinate_transformation_mode", "half_pixel");
  const NdArray* roi = operands.constant(1);
  const auto boxes = static_cast<std::int64_t>(axes.size());
  if (mode == "tf_crop_and_resize" && (roi == nullptr || roi->count() != 2 * boxes))
    return refuse(operands,
                  fmt::format("roi has {} entries, {} are expected", roi == nullptr ? 0 : roi->count(), 2 * boxes),
                  "give all starts, then all ends, one of each per axis");
  std::vector<Sampling> samplings;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto place = std::ranges::find(axes, i);
    double start = 0, end = 1;
    if (mode == "tf_crop_and_resize" && place != axes.end()) {
      start = roi->as_double(place - axes.begin());
      end = roi->as_double(boxes + (place - axes.begin()));
    }
    const std::optional<Sampling> sampling =
        make_sampling(mode, x[i], factors.output[i], factors.scales[i], start, end);
    if (!sampling)
      return refuse(operands, fmt::format("coordinate_transformation_mode \"{}\" is unknown", mode),
                    "use half_pixel, asymmetric, align_corners or another of the standard's modes");
    samplings.push_back(*sampling);
  }
  return samplings;
}

Result<Types> infer_resize(const Operands& operands) {
  const std::string mode = text(operands, "mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic")
    return refuse(operands, fmt::format("mode is \"{}\", but must be nearest, linear or cubic", mode),
                  "fix the exporter");
  if (!nearest_mode(text(operands, "nearest_mode", "round_prefer_floor")))
    return refuse(operands, fmt::format("nearest_mode \"{}\" is unknown", text(operands, "nearest_mode", "")),
                  "use round_prefer_floor, round_prefer_ceil, floor or ceil");
  if (mode != "nearest" && !is_floating(operands.type(0).dtype))
    return refuse(
        operands,
        fmt::format("mode {} is not possible for {}, which has no fractions", mode, name(operands.type(0).dtype)),
        "cast the input to float32");
  DOVETAIL_ASSIGN(const std::vector<Sampling> samplings, samplings_of(operands));
  graph::TensorType y = operands.type(0);
  if (element_count(y.shape) == 0)
    return refuse(operands, fmt::format("input {} has no elements", to_string(y.shape)), "remove the node");
  for (std::size_t i = 0; i < samplings.size(); ++i) y.shape[i] = samplings[i].output;
  return Types{std::move(y)};
}

// Weights of the taps at floor(coordinate) + first, first + 1, ... for the fraction f.
struct Kernel {
  std::int64_t first;
  std::vector<Expr> weights;
};

Kernel linear_kernel(const Expr& f) { return {0, {tensor::like(1, f) - f, f}}; }
Kernel cubic_kernel(const Expr& f, double a) { return {-1, cubic_weights(f, a)}; }

bool is_cubic(const Operands& operands) { return text(operands, "mode", "nearest") == "cubic"; }
double cubic_parameter(const Operands& operands) {
  return graph::float_attribute(operands.node, "cubic_coeff_a", -0.75);
}
bool crops(const Operands& operands) {
  return text(operands, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

// The value, or extrapolation_value if the coordinate is outside the input.
Expr cropped(const Operands& operands, const Expr& coordinate, const Sampling& sampling, const Expr& value) {
  const Expr low = tensor::like(0, coordinate),
             high = tensor::like(static_cast<double>(sampling.input - 1), coordinate);
  const Expr inside = loops::logical_and(tensor::less_equal(low, coordinate), tensor::less_equal(coordinate, high));
  return loops::select(inside, value,
                       tensor::like(graph::float_attribute(operands.node, "extrapolation_value", 0), value));
}

// The interpolated element along one axis of `x`.
Expr interpolate(const Operands& operands, const loops::Buffer& x, DType wide, const Indices& i, std::size_t axis,
                 const Sampling& sampling) {
  const Expr coordinate = sampling.coordinate(i[axis]), whole = loops::unary(loops::UnaryOp::floor, coordinate);
  const Expr base = loops::cast(DType::int64, whole), fraction = coordinate - whole;
  const Kernel kernel =
      is_cubic(operands) ? cubic_kernel(fraction, cubic_parameter(operands)) : linear_kernel(fraction);
  const bool exclude_outside = graph::int_attribute(operands.node, "exclude_outside", 0) != 0;
  const Expr first = tensor::index(0), last = tensor::index(sampling.input - 1);
  Expr sum, total;
  for (std::size_t k = 0; k < kernel.weights.size(); ++k) {
    const std::int64_t offset = kernel.first + static_cast<std::int64_t>(k);
    const Expr tap = offset == 0 ? base : base + offset;
    Expr weight = kernel.weights[k];
    if (exclude_outside)
      weight = loops::select(loops::logical_and(tensor::less_equal(first, tap), tensor::less_equal(tap, last)), weight,
                             tensor::like(0, weight));
    total = total ? total + weight : weight;
    const Expr term = loops::cast(wide, weight) *
                      loops::cast(wide, loops::load(x, with_index(i, axis, tensor::clamp(tap, first, last))));
    sum = sum ? sum + term : term;
  }
  const Expr value = exclude_outside ? tensor::divide(sum, loops::cast(wide, total)) : sum;
  return crops(operands) ? cropped(operands, coordinate, sampling, value) : value;
}

// antialias: when shrinking, the kernel is widened so that every element contributes. Its weights, which sum to 1, are
// a separate table: [output position, tap].
loops::Buffer antialiased(Naive& program, const Operands& operands, const loops::Buffer& x, DType wide,
                          std::size_t axis, const Sampling& sampling, double scale) {
  // A smaller factor leaves no element of the axis.
  const double least = 0.5 / static_cast<double>(std::max<std::int64_t>(sampling.input, 1));
  const double shrinking = std::clamp(scale, least, 1.0), support = is_cubic(operands) ? 2 : 1;
  const auto first = static_cast<std::int64_t>(std::floor(-support / shrinking)) + 1;
  const Axis positions{"p", sampling.output}, taps{"k", 2 - 2 * first};
  const Expr low = tensor::index(0), high = tensor::index(sampling.input - 1);
  const auto tap_of = [&](const Expr& position, const Expr& k) {
    const Expr whole = loops::unary(loops::UnaryOp::floor, sampling.coordinate(position));
    return loops::cast(DType::int64, whole) + k + first;
  };
  const auto named = [&](std::string_view stem) { return fmt::format("{}{}", stem, axis); };
  const loops::Buffer weights =
      program.compute(named("weights"), DType::float64, {positions, taps}, [&](const Indices& i) {
        const Expr tap = tap_of(i[0], i[1]), coordinate = sampling.coordinate(i[0]);
        const Expr distance =
            tensor::absolute((loops::cast(DType::float64, tap) - coordinate) * tensor::like(shrinking, coordinate));
        const Expr zero = tensor::like(0, distance), one = tensor::like(1, distance);
        Expr weight = tensor::maximum(one - distance, zero);
        if (is_cubic(operands)) {
          const auto of = [&](std::size_t neighbor, const Expr& t) {
            return cubic_weights(t, cubic_parameter(operands))[neighbor];
          };
          weight = loops::select(
              tensor::less_equal(distance, one), of(1, distance),
              loops::select(tensor::less(distance, tensor::like(2, distance)), of(0, distance - one), zero));
        }
        if (graph::int_attribute(operands.node, "exclude_outside", 0) == 0) return weight;
        return loops::select(loops::logical_and(tensor::less_equal(low, tap), tensor::less_equal(tap, high)), weight,
                             zero);
      });
  const loops::Buffer totals = program.reduce(named("total"), DType::float64, {positions}, {taps},
                                              tensor::sum_reducer(), [&](const Indices& i, const Indices& r) {
                                                return loops::load(weights, {i[0], r[0]});
                                              });
  const loops::Buffer shares = program.compute(named("shares"), wide, {positions, taps}, [&](const Indices& i) {
    return loops::cast(wide, tensor::divide(loops::load(weights, i), loops::load(totals, {i[0]})));
  });
  Axes axes = tensor_axes(x->shape);
  axes[axis].extent = sampling.output;
  const loops::Buffer sums = program.reduce(
      named("antialias"), wide, axes, {taps}, tensor::product_sum_reducer(), [&](const Indices& i, const Indices& r) {
        const Expr tap = tensor::clamp(tap_of(i[axis], r[0]), low, high);
        return loops::load(shares, {i[axis], r[0]}) * loops::cast(wide, loops::load(x, with_index(i, axis, tap)));
      });
  if (!crops(operands)) return sums;
  return program.compute(named("crop"), wide, axes, [&](const Indices& i) {
    return cropped(operands, sampling.coordinate(i[axis]), sampling, loops::load(sums, i));
  });
}

Result<loops::Program> define_nearest(const Operands& operands, const std::vector<Sampling>& samplings) {
  const NearestMode mode = *nearest_mode(text(operands, "nearest_mode", "round_prefer_floor"));
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Indices source = i;
    for (std::size_t k = 0; k < samplings.size(); ++k)
      if (!samplings[k].is_identity()) source[k] = nearest_index(samplings[k], mode, i[k]);
    Expr value = loops::load(program.in(0), source);
    for (std::size_t k = 0; k < samplings.size() && crops(operands); ++k)
      if (!samplings[k].is_identity()) value = cropped(operands, samplings[k].coordinate(i[k]), samplings[k], value);
    return value;
  });
}

Result<loops::Program> define_resize(const Operands& operands) {
  DOVETAIL_ASSIGN(const std::vector<Sampling> samplings, samplings_of(operands));
  if (text(operands, "mode", "nearest") == "nearest") return define_nearest(operands, samplings);
  const DType dtype = operands.output(0).dtype, wide = accumulator(dtype);
  const bool antialias = graph::int_attribute(operands.node, "antialias", 0) != 0;
  Naive program(operands);
  loops::Buffer current = program.in(0);
  for (std::size_t axis = 0; axis < samplings.size(); ++axis) {
    const Sampling& sampling = samplings[axis];
    if (sampling.is_identity()) continue;
    if (antialias) {
      current = antialiased(program, operands, current, wide, axis, sampling, sampling.scale);
      continue;
    }
    Axes axes = tensor_axes(current->shape);
    axes[axis].extent = sampling.output;
    current = program.compute(fmt::format("resize{}", axis), wide, axes, [&](const Indices& i) {
      return interpolate(operands, current, wide, i, axis, sampling);
    });
  }
  if (current == program.in(0)) return program.map([&](const Indices& i) { return loops::load(program.in(0), i); });
  if (wide == dtype) return program.finish({current});
  return program.map([&](const Indices& i) { return loops::cast(dtype, loops::load(current, i)); });
}

}  // namespace

std::vector<OpDef> resize_ops() {
  constexpr auto integer = AttributeKind::integer, real = AttributeKind::real, text = AttributeKind::text;
  return {{"Resize",
           Category::injective,
           infer_resize,
           define_resize,
           {1, 2, 3},
           {{{"X", kNumber},
             {"roi", kFloat, 0, Presence::optional},
             {"scales", kFloat32, 0, Presence::optional},
             {"sizes", kInt64, 0, Presence::optional}},
            {{"antialias", integer},
             {"axes", AttributeKind::integers},
             {"coordinate_transformation_mode", text},
             {"cubic_coeff_a", real},
             {"exclude_outside", integer},
             {"extrapolation_value", real},
             {"keep_aspect_ratio_policy", text},
             {"mode", text},
             {"nearest_mode", text}}}}};
}

}  // namespace dovetail::ops
