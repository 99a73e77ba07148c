#include "compiler/ops/convolve.h"

#include <fmt/format.h>

namespace dovetail::ops {

Shape ConvShape::output() const {
  Shape shape{batch, out_channels};
  shape.insert(shape.end(), window.output.begin(), window.output.end());
  return shape;
}

Result<ConvShape> conv_shape(const Operands& operands) {
  const Shape &x = operands.type(0).shape, &w = operands.type(1).shape;
  if (x.size() < 3 || w.size() != x.size())
    return refuse(
        operands,
        fmt::format("input {} and weight {} have ranks {} and {}", to_string(x), to_string(w), x.size(), w.size()),
        "both must have the same rank, at least 3: [batch, channels, spatial...] and [outputs, channels / group, "
        "kernel...]");
  const std::int64_t group = graph::int_attribute(operands.node, "group", 1);
  Diagnostics errors;
  if (group < 1) return refuse(operands, fmt::format("group is {}, but must be at least 1", group), "fix the exporter");
  if (x[1] != w[1] * group)
    errors.push_back(
        refuse(operands,
               fmt::format("input has {} channels, but weight {} x group {} has {}", x[1], w[1], group, w[1] * group),
               "the input must have as many channels as the weight times group"));
  if (w[0] % group != 0)
    errors.push_back(refuse(operands, fmt::format("{} output channels are not a multiple of group {}", w[0], group),
                            "choose a group that divides both channel counts"));
  Result<Window> window = make_window(operands, Shape(w.begin() + 2, w.end()));
  if (!window) errors.insert(errors.end(), window.errors().begin(), window.errors().end());
  if (!errors.empty()) return errors;
  return ConvShape{*std::move(window), x[0], x[1], w[0], group};
}

Axes conv_axes(const ConvShape& shape) {
  Axes axes{{"n", shape.batch}, {"o", shape.out_channels}};
  for (Axis& axis : spatial_axes(shape.window.output)) axes.push_back(std::move(axis));
  return axes;
}

loops::Buffer convolve(
    Naive& program, const loops::Buffer& x, const loops::Buffer& w, const ConvShape& shape, DType accumulator,
    const std::function<loops::Expr(const loops::Expr&, const loops::Expr&, const loops::Expr&)>& product) {
  const std::int64_t group_inputs = shape.in_channels / shape.group, group_outputs = shape.out_channels / shape.group;
  Axes reduce_axes{{"c", group_inputs}};
  for (Axis& axis : spatial_axes(shape.window.kernel, "k")) reduce_axes.push_back(std::move(axis));
  return program.reduce("conv", accumulator, conv_axes(shape), reduce_axes, tensor::product_sum_reducer(),
                        [&](const Indices& i, const Indices& r) {
                          const loops::Expr &n = i[0], &o = i[1], &c = r[0];
                          loops::Expr channel = c;
                          if (shape.group > 1) {
                            const loops::Expr first = group_outputs == 1 ? o : loops::floor_div(o, group_outputs);
                            channel = group_inputs == 1 ? first + c : first * group_inputs + c;
                          }
                          Indices weight{o};
                          weight.insert(weight.end(), r.begin(), r.end());
                          return product(
                              loops::load(x, window_indices(shape.window, {n, channel}, std::span(i).subspan(2),
                                                            std::span(r).subspan(1))),
                              loops::load(w, weight), o);
                        });
}

}  // namespace dovetail::ops
