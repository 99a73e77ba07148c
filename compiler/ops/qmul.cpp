// dovetail.qmul: the product of two int8 tensors (docs/reference/quantization.md). y = clamp(requantize((a - za)(b -
// zb), scale, zy), y_min, y_max), with broadcasting; the product of two steps is within ±65025.
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/requantize.h"

namespace dovetail::ops {
namespace {

Result<Types> infer_qmul(const Operands& operands) {
  DOVETAIL_TRY(check_quantized_attributes(operands));
  DOVETAIL_TRY(check_scale_attribute(operands));
  DOVETAIL_ASSIGN(Shape shape, broadcast_inputs(operands));
  return Types{{DType::int8, std::move(shape)}};
}

Result<loops::Program> define_qmul(const Operands& operands) {
  Naive program(operands);
  const loops::Expr scale = loops::float_imm(graph::float_attribute(operands.node, "scale", 1));
  return program.map([&](const Indices& i) {
    const loops::Expr a =
        centered(load_broadcast(program.in(0), i), graph::int_attribute(operands.node, "a_zero_point", 0));
    const loops::Expr b =
        centered(load_broadcast(program.in(1), i), graph::int_attribute(operands.node, "b_zero_point", 0));
    return requantized(operands, a * b, scale);
  });
}

}  // namespace

std::vector<OpDef> qmul_ops() {
  constexpr auto integer = AttributeKind::integer;
  return {{"dovetail.qmul",
           Category::injective,
           infer_qmul,
           define_qmul,
           {},
           {{{"a", kInt8}, {"b", kInt8}},
            quantized_attributes({{"a_zero_point", integer},
                                  {"b_zero_point", integer},
                                  {"scale", AttributeKind::real, Presence::required}})}}};
}

}  // namespace dovetail::ops
