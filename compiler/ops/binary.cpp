// Elementwise operators of two inputs with broadcasting: the value functions, and one row per operator.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/broadcast.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::BinaryOp;
using loops::Expr;
using tensor::like;

enum class Yields : std::uint8_t { first, boolean };

struct BinaryRow {
  std::string_view op;
  DTypeSet types;  // of both inputs, which must be equal unless second_types is given
  std::vector<AttributeRule> attributes;
  Expr (*value)(const Operands& operands, const Expr& a, const Expr& b);
  Yields yields = Yields::first;
  DTypeSet second_types = 0;
};

template <BinaryOp op>
Expr apply(const Operands&, const Expr& a, const Expr& b) {
  return loops::binary(op, a, b);
}

// The result has the base's type; an integer base with a real exponent is computed in binary64.
Expr pow(const Operands&, const Expr& base, const Expr& exponent) {
  const DType type = base->dtype;
  if (is_floating(type)) return tensor::power(base, loops::cast(type, exponent));
  const DType wide = is_floating(exponent->dtype) ? DType::float64 : DType::int64;
  return loops::cast(type, tensor::power(loops::cast(wide, base), loops::cast(wide, exponent)));
}

// fmod = 1: C's remainder, with the sign of the dividend; 0: Python's, with that of the divisor (integers only).
Expr mod(const Operands& operands, const Expr& a, const Expr& b) {
  const Expr remainder = loops::binary(BinaryOp::mod, a, b);
  if (graph::int_attribute(operands.node, "fmod", 0) != 0 || contains(kUnsigned, a->dtype)) return remainder;
  const Expr zero = like(0, a);
  const Expr signs_differ = tensor::not_equal(tensor::less(remainder, zero), tensor::less(b, zero));
  return loops::select(loops::logical_and(tensor::not_equal(remainder, zero), signs_differ), remainder + b, remainder);
}

Expr bit_shift(const Operands& operands, const Expr& a, const Expr& b) {
  const bool left = graph::string_attribute(operands.node, "direction", "") == "LEFT";
  return loops::binary(left ? BinaryOp::shl : BinaryOp::shr, a, b);
}

Expr prelu(const Operands&, const Expr& x, const Expr& slope) {
  if (contains(kUnsigned, x->dtype)) return x;
  return loops::select(tensor::less(x, like(0, x)), slope * x, x);
}

const std::vector<BinaryRow>& binary_rows() {
  static const std::vector<BinaryRow> table{
      {"Add", kNumber, {}, apply<BinaryOp::add>},
      {"And", kBool, {}, apply<BinaryOp::logical_and>},
      {"BitShift", kUnsigned, {{"direction", AttributeKind::text, Presence::required}}, bit_shift},
      {"BitwiseAnd", kInteger, {}, apply<BinaryOp::bit_and>},
      {"BitwiseOr", kInteger, {}, apply<BinaryOp::bit_or>},
      {"BitwiseXor", kInteger, {}, apply<BinaryOp::bit_xor>},
      {"Div", kNumber, {}, apply<BinaryOp::div>},
      {"Equal", kAny, {}, apply<BinaryOp::eq>, Yields::boolean},
      {"Greater", kNumber, {}, apply<BinaryOp::gt>, Yields::boolean},
      {"GreaterOrEqual", kNumber, {}, apply<BinaryOp::ge>, Yields::boolean},
      {"Less", kNumber, {}, apply<BinaryOp::lt>, Yields::boolean},
      {"LessOrEqual", kNumber, {}, apply<BinaryOp::le>, Yields::boolean},
      {"Mod", kNumber, {{"fmod", AttributeKind::integer}}, mod},
      {"Mul", kNumber, {}, apply<BinaryOp::mul>},
      {"Or", kBool, {}, apply<BinaryOp::logical_or>},
      {"PRelu", kNumber, {}, prelu},
      {"Pow", kFloat | kIndex, {}, pow, Yields::first, kNumber},
      {"Sub", kNumber, {}, apply<BinaryOp::sub>},
      {"Xor", kBool, {}, apply<BinaryOp::ne>},
  };
  return table;
}

const BinaryRow& binary_row(const Operands& operands) {
  const auto row = std::ranges::find(binary_rows(), std::string_view(operands.node.op), &BinaryRow::op);
  DOVETAIL_CHECK(row != binary_rows().end(), operands.node.op);
  return *row;
}

Result<void> check_attributes(const Operands& operands) {
  const std::string direction = graph::string_attribute(operands.node, "direction", "LEFT");
  if (direction != "LEFT" && direction != "RIGHT")
    return refuse(operands, fmt::format("direction is \"{}\", but must be LEFT or RIGHT", direction),
                  "use one of these");
  if (operands.node.op == "Mod" && is_floating(operands.type(0).dtype) &&
      graph::int_attribute(operands.node, "fmod", 0) == 0)
    return refuse(operands,
                  fmt::format("fmod is 0 on {}, which has no integer remainder", name(operands.type(0).dtype)),
                  "set fmod to 1");
  if (operands.node.op == "PRelu") return require_broadcastable(operands, 1, operands.type(0).shape);
  return {};
}

Result<Types> infer_binary(const Operands& operands) {
  DOVETAIL_TRY(check_attributes(operands));
  DOVETAIL_ASSIGN(Shape shape, broadcast_inputs(operands));
  return Types{
      {binary_row(operands).yields == Yields::boolean ? DType::boolean : operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_binary(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    return binary_row(operands).value(operands, load_broadcast(program.in(0), i), load_broadcast(program.in(1), i));
  });
}

}  // namespace

std::vector<OpDef> binary_ops() {
  std::vector<OpDef> ops;
  for (const BinaryRow& row : binary_rows()) {
    const bool same = row.second_types == 0;
    const InputRule a{"A", row.types, same ? 'T' : '\0'},
        b{"B", same ? row.types : row.second_types, same ? 'T' : '\0'};
    ops.push_back({row.op, Category::injective, infer_binary, define_binary, {}, {{a, b}, row.attributes}});
  }
  return ops;
}

}  // namespace dovetail::ops
