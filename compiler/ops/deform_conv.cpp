// DeformConv: a convolution whose taps sample the input at positions moved by offsets, between elements; the input is
// surrounded by zeros.
#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/convolve.h"
#include "compiler/ops/interpolation.h"
#include "compiler/ops/list.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using tensor::index;

std::int64_t offset_groups(const Operands& operands) { return graph::int_attribute(operands.node, "offset_group", 1); }

Result<Types> infer_deform_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  DOVETAIL_TRY(require_per_channel(operands, 3, "bias", shape.out_channels));
  const std::int64_t groups = offset_groups(operands), taps = element_count(shape.window.kernel),
                     rank = static_cast<std::int64_t>(shape.window.rank());
  if (groups < 1 || shape.in_channels % groups != 0)
    return refuse(operands, fmt::format("{} channels do not divide into {} offset groups", shape.in_channels, groups),
                  "choose an offset_group that divides the channels");
  const auto expect = [&](std::size_t input, std::string_view name, std::int64_t channels) -> Result<void> {
    if (!operands.has(input)) return {};
    Shape expected{shape.batch, channels};
    expected.insert(expected.end(), shape.window.output.begin(), shape.window.output.end());
    if (operands.type(input).shape == expected) return {};
    return refuse(
        operands,
        fmt::format("{} has shape {}, expected {}", name, to_string(operands.type(input).shape), to_string(expected)),
        "give one value for each offset group, tap and output position (offset: also each spatial axis)");
  };
  DOVETAIL_TRY(expect(2, "offset", groups * taps * rank));
  DOVETAIL_TRY(expect(4, "mask", groups * taps));
  return Types{{operands.type(0).dtype, shape.output()}};
}

Result<loops::Program> define_deform_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  const Window& window = shape.window;
  const std::size_t rank = window.rank();
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  const std::int64_t of_offset = shape.in_channels / offset_groups(operands);
  Naive program(operands);
  // The sampled input of each tap: [n, c, taps..., positions...].
  Axes axes{{"n", shape.batch}, {"c", shape.in_channels}};
  for (Axis& axis : spatial_axes(window.kernel, "k")) axes.push_back(std::move(axis));
  for (Axis& axis : spatial_axes(window.output)) axes.push_back(std::move(axis));
  const loops::Buffer sampled = program.compute("sampled", wide, axes, [&](const Indices& i) {
    const std::span<const Expr> taps = std::span(i).subspan(2, rank), places = std::span(i).subspan(2 + rank);
    Expr tap = of_offset == shape.in_channels ? index(0) : loops::floor_div(i[1], of_offset);
    for (std::size_t d = 0; d < rank; ++d) tap = tap * window.kernel[d] + taps[d];
    const auto given = [&](std::size_t input, const Expr& channel) {
      Indices at{i[0], channel};
      at.insert(at.end(), places.begin(), places.end());
      return loops::cast(wide, loops::load(program.in(input), at));
    };
    const Indices corner = window_indices(window, {}, places, taps);
    std::vector<Expr> point;
    for (std::size_t d = 0; d < rank; ++d)
      point.push_back(loops::cast(wide, corner[d] - window.pad_begin[d]) +
                      given(2, tap * static_cast<std::int64_t>(rank) + static_cast<std::int64_t>(d)));
    const Expr value = interpolated(point, Neighbors::linear, [&](const Indices& place) {
      Indices source{i[0], i[1]};
      Expr inside;
      for (std::size_t d = 0; d < rank; ++d) {
        const Expr last = index(window.input[d] - 1);
        const Expr here =
            loops::logical_and(tensor::less_equal(index(0), place[d]), tensor::less_equal(place[d], last));
        inside = inside ? loops::logical_and(inside, here) : here;
        source.push_back(tensor::clamp(place[d], index(0), last));
      }
      return loops::select(inside, loops::cast(wide, loops::load(program.in(0), source)), loops::constant(0, wide));
    });
    return operands.has(4) ? value * given(4, tap) : value;
  });
  const std::int64_t inputs = shape.in_channels / shape.group, outputs = shape.out_channels / shape.group;
  Axes reduce_axes{{"c", inputs}};
  for (Axis& axis : spatial_axes(window.kernel, "k")) reduce_axes.push_back(std::move(axis));
  const loops::Buffer sum = program.reduce(
      "conv", wide, conv_axes(shape), reduce_axes, tensor::product_sum_reducer(),
      [&](const Indices& i, const Indices& r) {
        Indices at{i[0], shape.group == 1 ? r[0] : loops::floor_div(i[1], outputs) * inputs + r[0]}, weight{i[1]};
        at.insert(at.end(), r.begin() + 1, r.end());
        at.insert(at.end(), i.begin() + 2, i.end());
        weight.insert(weight.end(), r.begin(), r.end());
        return loops::load(sampled, at) * loops::cast(wide, loops::load(program.in(1), weight));
      });
  if (!operands.has(3) && wide == dtype) return program.finish({sum});
  return program.finish({program.compute("bias", dtype, conv_axes(shape), [&](const Indices& i) {
    Expr value = loops::load(sum, i);
    if (operands.has(3)) value = value + loops::cast(wide, loops::load(program.in(3), {i[1]}));
    return loops::cast(dtype, value);
  })});
}

}  // namespace

std::vector<OpDef> deform_conv_ops() {
  constexpr auto integer = AttributeKind::integer, integers = AttributeKind::integers;
  constexpr auto optional = Presence::optional;
  return {{"DeformConv",
           Category::complex_out_fusable,
           infer_deform_conv,
           define_deform_conv,
           {},
           {{{"X", kFloat, 'T'},
             {"W", kFloat, 'T'},
             {"offset", kFloat, 'T'},
             {"B", kFloat, 'T', optional},
             {"mask", kFloat, 'T', optional}},
            {{"dilations", integers},
             {"group", integer},
             {"kernel_shape", integers},
             {"offset_group", integer},
             {"pads", integers},
             {"strides", integers}}}}};
}

}  // namespace dovetail::ops
