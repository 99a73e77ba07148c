// ConvTranspose: convolution of the input, spread by the strides, with the flipped weight.
#include "compiler/ops/conv_transpose.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

constexpr std::int64_t kMostOfAttribute = INT32_MAX;

// Attribute `name` with `count` entries of at least `least`; empty if the node has none.
Result<Shape> entries(const Operands& operands, std::string_view name, std::size_t count, std::int64_t fallback,
                      std::int64_t least) {
  const Shape values = graph::ints_attribute(operands.node, name, Shape(count, fallback));
  if (values.size() != count)
    return refuse(operands, fmt::format("{} has {} entries, {} are expected", name, values.size(), count),
                  "give one per spatial axis (pads: two)");
  for (const std::int64_t value : values)
    if (value < least || value > kMostOfAttribute)
      return refuse(
          operands,
          fmt::format("{} contains {}, but its values must be from {} to {}", name, value, least, kMostOfAttribute),
          "fix the exporter");
  return values;
}

Result<void> check_operands(const Operands& operands, std::int64_t group) {
  const Shape &x = operands.type(0).shape, &w = operands.type(1).shape;
  if (x.size() < 3 || w.size() != x.size())
    return refuse(
        operands,
        fmt::format("input {} and weight {} have ranks {} and {}", to_string(x), to_string(w), x.size(), w.size()),
        "both must have the same rank, at least 3: [batch, channels, spatial...] and [channels, outputs / group, "
        "kernel...]");
  if (group < 1 || x[1] != w[0] || x[1] % group != 0)
    return refuse(operands, fmt::format("input has {} channels, but weight has {}, in {} groups", x[1], w[0], group),
                  "the weight must have the input's channels, a multiple of group");
  if (element_count(x) == 0 || element_count(w) == 0)
    return refuse(operands, fmt::format("input {} or weight {} has no elements", to_string(x), to_string(w)),
                  "both must have elements");
  return {};
}

Result<Types> infer_conv_transpose(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvTransposeShape shape, conv_transpose_shape(operands));
  DOVETAIL_TRY(require_per_channel(operands, 2, "bias", shape.out_channels));
  return Types{{operands.type(0).dtype, shape.result()}};
}

// The input with stride − 1 zeros between its elements, from the first to the last element that a window covers.
loops::Buffer spread(Naive& program, const loops::Buffer& x, const ConvTransposeShape& s) {
  const bool as_it_is = [&] {
    for (std::size_t d = 0; d < s.rank(); ++d)
      if (s.strides[d] != 1 || s.front(d) != 0 || s.padded(d) != s.input[d]) return false;
    return true;
  }();
  if (as_it_is) return x;
  Shape padded{s.batch, s.in_channels};
  for (std::size_t d = 0; d < s.rank(); ++d) padded.push_back(s.padded(d));
  return program.compute("spread", x->dtype, image_axes(padded), [&](const Indices& i) {
    Indices source = i;
    loops::Expr inside;
    const auto require = [&](loops::Expr condition) {
      inside = inside ? loops::logical_and(std::move(inside), std::move(condition)) : std::move(condition);
    };
    for (std::size_t d = 0; d < s.rank(); ++d) {
      const loops::Expr place = s.front(d) == 0 ? i[d + 2] : i[d + 2] - s.front(d);
      const loops::Expr element = s.strides[d] == 1 ? place : loops::floor_div(place, s.strides[d]);
      if (s.strides[d] > 1) require(tensor::equal(loops::floor_mod(place, s.strides[d]), tensor::index(0)));
      if (s.front(d) > 0) require(tensor::less_equal(tensor::index(0), element));
      if (s.padded(d) > s.front(d) + (s.input[d] - 1) * s.strides[d] + 1)
        require(tensor::less(element, tensor::index(s.input[d])));
      source[d + 2] = element;
    }
    const loops::Expr element = loops::load(x, source);
    return inside ? loops::select(inside, element, loops::constant(0, x->dtype)) : element;
  });
}

Result<loops::Program> define_conv_transpose(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvTransposeShape s, conv_transpose_shape(operands));
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  const loops::Buffer x = spread(program, program.in(0), s);
  const std::int64_t inputs = s.in_channels / s.group, outputs = s.out_channels / s.group;
  Axes axes{{"n", s.batch}, {"o", s.out_channels}}, reduce_axes{{"c", inputs}};
  for (Axis& axis : spatial_axes(s.output)) axes.push_back(std::move(axis));
  for (Axis& axis : spatial_axes(s.kernel, "k")) reduce_axes.push_back(std::move(axis));
  const loops::Buffer sum = program.reduce(
      "conv", wide, axes, reduce_axes, tensor::product_sum_reducer(), [&](const Indices& i, const Indices& r) {
        const loops::Expr of_group = s.group == 1 ? nullptr : loops::floor_div(i[1], outputs);
        const loops::Expr channel = of_group ? of_group * inputs + r[0] : r[0];
        Indices element{i[0], channel}, weight{channel, of_group ? loops::floor_mod(i[1], outputs) : i[1]};
        for (std::size_t d = 0; d < s.rank(); ++d) {
          element.push_back(i[d + 2] + (s.dilations[d] == 1 ? r[d + 1] : r[d + 1] * s.dilations[d]));
          weight.push_back(tensor::index(s.kernel[d] - 1) - r[d + 1]);
        }
        return loops::cast(wide, loops::load(x, element)) * loops::cast(wide, loops::load(program.in(1), weight));
      });
  if (!operands.has(2) && wide == dtype) return program.finish({sum});
  return program.finish({program.compute("bias", dtype, axes, [&](const Indices& i) {
    loops::Expr value = loops::load(sum, i);
    if (operands.has(2)) value = value + loops::cast(wide, loops::load(program.in(2), {i[1]}));
    return loops::cast(dtype, value);
  })});
}

}  // namespace

Shape ConvTransposeShape::result() const {
  Shape shape{batch, out_channels};
  shape.insert(shape.end(), output.begin(), output.end());
  return shape;
}

Result<ConvTransposeShape> conv_transpose_shape(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &w = operands.type(1).shape;
  const std::int64_t group = graph::int_attribute(operands.node, "group", 1);
  DOVETAIL_TRY(check_operands(operands, group));
  const std::size_t rank = x.size() - 2;
  ConvTransposeShape s;
  s.batch = x[0], s.in_channels = x[1], s.out_channels = w[1] * group, s.group = group;
  s.input.assign(x.begin() + 2, x.end());
  s.kernel.assign(w.begin() + 2, w.end());
  DOVETAIL_ASSIGN(const Shape given_kernel, entries(operands, "kernel_shape", rank, 1, 1));
  if (operands.node.attributes.contains("kernel_shape") && given_kernel != s.kernel)
    return refuse(
        operands,
        fmt::format("kernel_shape is {}, but the weight's kernel is {}", to_string(given_kernel), to_string(s.kernel)),
        "make them equal, or remove the attribute");
  DOVETAIL_ASSIGN(s.strides, entries(operands, "strides", rank, 1, 1));
  DOVETAIL_ASSIGN(s.dilations, entries(operands, "dilations", rank, 1, 1));
  DOVETAIL_ASSIGN(const Shape more, entries(operands, "output_padding", rank, 0, 0));
  DOVETAIL_ASSIGN(const Shape pads, entries(operands, "pads", 2 * rank, 0, 0));
  const std::string auto_pad = graph::string_attribute(operands.node, "auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER")
    return refuse(operands,
                  fmt::format("auto_pad is \"{}\", but must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", auto_pad),
                  "fix the exporter");
  const bool same = auto_pad.starts_with("SAME"), sized = operands.node.attributes.contains("output_shape");
  Shape requested = graph::ints_attribute(operands.node, "output_shape", {});
  if (requested.size() == rank + 2)
    requested.erase(requested.begin(), requested.begin() + 2);  // some exporters name all axes
  if (sized && requested.size() != rank)
    return refuse(operands, fmt::format("output_shape has {} entries, {} are expected", requested.size(), rank),
                  "give one per spatial axis");
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t whole = s.strides[d] * (s.input[d] - 1) + more[d] + s.span(d);
    std::int64_t begin = pads[d], end = pads[rank + d];
    if (same || sized) {
      // The pads follow from the output extent; the larger half of an odd sum is at the end for SAME_UPPER only. Output
      // elements beyond the products are after them.
      const std::int64_t total = whole - (sized ? requested[d] : s.input[d] * s.strides[d]);
      begin = total < 0 ? 0 : auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    s.pad_begin.push_back(begin);
    s.output.push_back(whole - begin - end);
    if (s.output[d] < 1)
      return refuse(operands,
                    fmt::format("pads {} and {} leave {} elements of spatial axis {}", begin, end, s.output[d], d),
                    "use smaller pads");
  }
  return s;
}

std::vector<OpDef> conv_transpose_ops() {
  std::vector<AttributeRule> attributes = window_attributes({{"group", AttributeKind::integer},
                                                             {"output_padding", AttributeKind::integers},
                                                             {"output_shape", AttributeKind::integers}});
  return {{"ConvTranspose",
           Category::complex_out_fusable,
           infer_conv_transpose,
           define_conv_transpose,
           {},
           {{{"X", kFloat, 'T'}, {"W", kFloat, 'T'}, {"B", kFloat, 'T', Presence::optional}}, std::move(attributes)}}};
}

}  // namespace dovetail::ops
