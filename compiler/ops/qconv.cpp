// dovetail.qconv: the integer convolution (docs/reference/quantization.md). acc = bias + sum (x - zx)(w - zw) in int32,
// padding contributes 0; y = clamp(requantize(acc, scale[o], zy), y_min, y_max).
#include "compiler/ops/broadcast.h"
#include "compiler/ops/convolve.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_qconv(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  DOVETAIL_TRY(require_per_channel(operands, 2, "bias", shape.out_channels));
  DOVETAIL_TRY(require_per_channel(operands, 3, "scale", shape.out_channels));
  DOVETAIL_TRY(require_per_channel(operands, 4, "w_zero_point", shape.out_channels));
  return Types{{DType::int8, shape.output()}};
}

Result<loops::Program> define_qconv(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  Naive program(operands);
  const std::int64_t zero = graph::int_attribute(operands.node, "x_zero_point", 0);
  const loops::Buffer x = pad_spatial(program, program.in(0), shape.window, loops::int_imm(zero, DType::int8));
  const loops::Buffer sum = convolve(program, x, program.in(1), shape, DType::int32,
                                     [&](const loops::Expr& a, const loops::Expr& w, const loops::Expr& o) {
                                       return centered(a, zero) * centered_weight(program, operands, w, 4, o);
                                     });
  return program.finish({program.compute("requantize", DType::int8, conv_axes(shape), [&](const Indices& i) {
    return requantized(operands, loops::load(sum, i) + loops::load(program.in(2), {i[1]}),
                       loops::load(program.in(3), {i[1]}));
  })});
}

}  // namespace

std::vector<OpDef> qconv_ops() {
  return {{"dovetail.qconv",
           Category::complex_out_fusable,
           infer_qconv,
           define_qconv,
           {},
           {{{"x", kInt8},
             {"w", kInt8},
             {"bias", kInt32},
             {"scale", kFloat32},
             {"w_zero_point", kInt8, 0, Presence::optional}},
            window_attributes(
                quantized_attributes({{"group", AttributeKind::integer}, {"x_zero_point", AttributeKind::integer}}))}}};
}

}  // namespace dovetail::ops
