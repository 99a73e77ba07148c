#include "compiler/ops/broadcast.h"
#include "compiler/ops/convolve.h"
#include "compiler/ops/families.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

Result<Types> infer(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  DOVETAIL_TRY(require_per_channel(operands, 2, "bias", shape.out_channels));
  return Types{{operands.type(0).dtype, shape.output()}};
}

Result<loops::Program> define(const Operands& operands) {
  DOVETAIL_ASSIGN(const ConvShape shape, conv_shape(operands));
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  const loops::Buffer x = pad_spatial(program, program.in(0), shape.window, loops::constant(0, dtype));
  const loops::Buffer sum = convolve(program, x, program.in(1), shape, wide, [&](const loops::Expr& a, const loops::Expr& w, const loops::Expr&) {
    return loops::cast(wide, a) * loops::cast(wide, w);
  });
  if (!operands.has(2) && wide == dtype) return program.finish({sum});
  return program.finish({program.compute("bias", dtype, conv_axes(shape), [&](const Indices& i) {
    loops::Expr value = loops::load(sum, i);
    if (operands.has(2)) value = value + loops::cast(wide, loops::load(program.in(2), {i[1]}));
    return loops::cast(dtype, value);
  })});
}

}  // namespace

std::vector<OpDef> conv_ops() {
  return {{"Conv", Category::complex_out_fusable, infer, define, {},
           {{{"X", kFloat, 'T'}, {"W", kFloat, 'T'}, {"B", kFloat, 'T', Presence::optional}},
            window_attributes({{"group", AttributeKind::integer}})}}};
}

}  // namespace dovetail::ops
