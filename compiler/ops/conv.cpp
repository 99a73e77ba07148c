#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/convolve.h"
#include "compiler/ops/list.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  DOVETAIL_TRY(require_per_channel(operands, 2, "bias", shape.out_channels));
  return Types{{operands.type(0).dtype, shape.output()}};
}

Result<loops::Program> define_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  const loops::Buffer x = pad_spatial(program, program.in(0), shape.window, loops::constant(0, dtype));
  const loops::Buffer sum = convolve(program, x, program.in(1), shape, wide,
                                     [&](const loops::Expr& a, const loops::Expr& w, const loops::Expr&) {
                                       return loops::cast(wide, a) * loops::cast(wide, w);
                                     });
  if (!operands.has(2) && wide == dtype) return program.finish({sum});
  return program.finish({program.compute("bias", dtype, conv_axes(shape), [&](const Indices& i) {
    loops::Expr value = loops::load(sum, i);
    if (operands.has(2)) value = value + loops::cast(wide, loops::load(program.in(2), {i[1]}));
    return loops::cast(dtype, value);
  })});
}

// ConvInteger: int32 sums of (x - x_zero_point)(w - w_zero_point); w_zero_point is one number or one per output
// channel; padding contributes 0.
Result<Types> infer_integer_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  if (operands.has(2) && element_count(operands.type(2).shape) != 1)
    return refuse(operands,
                  fmt::format("x_zero_point has shape {}, expected one number", to_string(operands.type(2).shape)),
                  "quantize activations per tensor");
  if (operands.has(3) && element_count(operands.type(3).shape) != 1)
    DOVETAIL_TRY(require_per_channel(operands, 3, "w_zero_point", shape.out_channels));
  return Types{{DType::int32, shape.output()}};
}

Result<loops::Program> define_integer_conv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  Naive program(operands);
  const bool per_channel = operands.has(3) && element_count(operands.type(3).shape) != 1;
  const loops::Expr x_zero = operands.has(2) ? program.scalar(2) : loops::constant(0, operands.type(0).dtype);
  const loops::Buffer x = pad_spatial(program, program.in(0), shape.window, x_zero);
  const auto centered = [](const loops::Expr& element, const loops::Expr& zero) {
    return loops::cast(DType::int32, element) - loops::cast(DType::int32, zero);
  };
  return program.finish(
      {convolve(program, x, program.in(1), shape, DType::int32,
                [&](const loops::Expr& a, const loops::Expr& w, const loops::Expr& o) {
                  const loops::Expr left = operands.has(2) ? centered(a, x_zero) : loops::cast(DType::int32, a);
                  if (!operands.has(3)) return left * loops::cast(DType::int32, w);
                  return left * centered(w, per_channel ? loops::load(program.in(3), {o}) : program.scalar(3));
                })});
}

}  // namespace

std::vector<OpDef> conv_ops() {
  return {{"ConvInteger",
           Category::complex_out_fusable,
           infer_integer_conv,
           define_integer_conv,
           {},
           {{{"x", kByte, 'T'},
             {"w", kByte, 'V'},
             {"x_zero_point", kByte, 'T', Presence::optional},
             {"w_zero_point", kByte, 'V', Presence::optional}},
            window_attributes({{"group", AttributeKind::integer}})}},
          {"Conv",
           Category::complex_out_fusable,
           infer_conv,
           define_conv,
           {},
           {{{"X", kFloat, 'T'}, {"W", kFloat, 'T'}, {"B", kFloat, 'T', Presence::optional}},
            window_attributes({{"group", AttributeKind::integer}})}}};
}

}  // namespace dovetail::ops
