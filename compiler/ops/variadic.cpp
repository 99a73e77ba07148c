// Elementwise operators of one or more inputs with broadcasting, and Clip, whose bounds are inputs.
#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::BinaryOp;
using loops::Expr;

BinaryOp combine(std::string_view op) {
  return op == "Max" ? BinaryOp::max : op == "Min" ? BinaryOp::min : BinaryOp::add;
}

Result<Types> infer_variadic(const Operands& operands) {
  DOVETAIL_ASSIGN(Shape shape, broadcast_inputs(operands));
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_variadic(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Expr value = load_broadcast(program.in(0), i);
    for (std::size_t k = 1; k < operands.count(); ++k)
      value = loops::binary(combine(operands.node.op), value, load_broadcast(program.in(k), i));
    if (operands.node.op == "Mean")
      value = tensor::divide(value, tensor::like(static_cast<double>(operands.count()), value));
    return value;
  });
}

Result<Types> infer_clip(const Operands& operands) {
  for (const std::size_t bound : {1, 2})
    if (operands.has(bound) && element_count(operands.type(bound).shape) != 1)
      return refuse(operands,
                    std::string(bound == 1 ? "min" : "max") + " has shape " + to_string(operands.type(bound).shape) +
                        ", expected one element",
                    "use Min and Max, which broadcast");
  return Types{operands.type(0)};
}

// min(max(x, low), high): if low > high, the result is high, as the standard specifies.
Result<loops::Program> define_clip(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    Expr value = loops::load(program.in(0), i);
    if (operands.has(1)) value = tensor::maximum(value, program.scalar(1));
    if (operands.has(2)) value = tensor::minimum(value, program.scalar(2));
    return value;
  });
}

OpDef variadic(std::string_view op, DTypeSet types) {
  return {op, Category::injective, infer_variadic, define_variadic, {}, {{{"data", types, 'T', Presence::variadic}}}};
}

}  // namespace

std::vector<OpDef> variadic_ops() {
  return {
      {"Clip",
       Category::injective,
       infer_clip,
       define_clip,
       {},
       {{{"input", kNumber, 'T'},
         {"min", kNumber, 'T', Presence::optional},
         {"max", kNumber, 'T', Presence::optional}}}},
      variadic("Max", kNumber),
      variadic("Mean", kFloat),
      variadic("Min", kNumber),
      variadic("Sum", kFloat),
  };
}

}  // namespace dovetail::ops
