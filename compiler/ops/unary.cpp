// Elementwise operators of one input: the value functions, and one row per operator.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using loops::UnaryOp;
using tensor::like;

// A node's attribute as an immediate of the element type.
struct Element {
  const Operands& operands;
  Expr x;
  Expr attribute(std::string_view name, double fallback) const {
    return like(graph::float_attribute(operands.node, name, fallback), x);
  }
  std::int64_t flag(std::string_view name, std::int64_t fallback) const {
    return graph::int_attribute(operands.node, name, fallback);
  }
};

struct UnaryRow {
  std::string_view op;
  DTypeSet types;
  std::vector<AttributeRule> attributes;
  Expr (*value)(const Element& e);
  bool yields_bool = false;
};

template <UnaryOp op>
Expr apply(const Element& e) {
  return loops::unary(op, e.x);
}

Expr choose_positive(const Expr& x, Expr if_positive, Expr otherwise) {
  return loops::select(tensor::greater(x, like(0, x)), std::move(if_positive), std::move(otherwise));
}
Expr sigmoid(const Expr& x) {
  return tensor::divide(like(1, x), like(1, x) + tensor::exponential(tensor::negative(x)));
}
// log(1 + exp(x)) without overflow.
Expr softplus(const Expr& x) {
  return tensor::maximum(x, like(0, x)) +
         tensor::logarithm(like(1, x) + tensor::exponential(tensor::negative(tensor::absolute(x))));
}
Expr exp_minus_1(const Expr& x) { return tensor::exponential(x) - like(1, x); }
Expr unit_clamp(const Expr& x) { return tensor::clamp(x, like(0, x), like(1, x)); }

Expr gelu(const Element& e) {
  const Expr& x = e.x;
  const Expr half = x * like(0.5, x);
  if (graph::string_attribute(e.operands.node, "approximate", "none") == "tanh") {
    const Expr inner = like(std::sqrt(2 / M_PI), x) * (x + like(0.044715, x) * x * x * x);
    return half * (like(1, x) + loops::unary(UnaryOp::tanh, inner));
  }
  return half * (like(1, x) + loops::unary(UnaryOp::erf, tensor::divide(x, like(std::sqrt(2.0), x))));
}

Expr is_inf(const Element& e) {
  const bool negative = e.flag("detect_negative", 1) != 0, positive = e.flag("detect_positive", 1) != 0;
  const Expr infinite = loops::unary(UnaryOp::is_inf, e.x);
  if (negative && positive) return infinite;
  if (!negative && !positive) return loops::bool_imm(false);
  const Expr zero = like(0, e.x);
  return loops::logical_and(infinite, positive ? tensor::greater(e.x, zero) : tensor::less(e.x, zero));
}

Expr shrink(const Element& e) {
  const Expr& x = e.x;
  const Expr bias = e.attribute("bias", 0), lambd = e.attribute("lambd", 0.5);
  return loops::select(tensor::less(x, tensor::negative(lambd)), x + bias,
                       loops::select(tensor::greater(x, lambd), x - bias, like(0, x)));
}

const std::vector<UnaryRow>& unary_rows() {
  constexpr auto real = AttributeKind::real;
  constexpr DTypeSet kSignedNumber = kFloat | kSigned;
  static const std::vector<UnaryRow> table{
      {"Abs",
       kNumber,
       {},
       [](const Element& e) { return contains(kUnsigned, e.x->dtype) ? e.x : tensor::absolute(e.x); }},
      {"Acos", kFloat, {}, apply<UnaryOp::acos>},
      {"Acosh", kFloat, {}, apply<UnaryOp::acosh>},
      {"Asin", kFloat, {}, apply<UnaryOp::asin>},
      {"Asinh", kFloat, {}, apply<UnaryOp::asinh>},
      {"Atan", kFloat, {}, apply<UnaryOp::atan>},
      {"Atanh", kFloat, {}, apply<UnaryOp::atanh>},
      {"BitwiseNot", kInteger, {}, apply<UnaryOp::bit_not>},
      {"Ceil", kFloat, {}, apply<UnaryOp::ceil>},
      {"Celu",
       kFloat,
       {{"alpha", real}},
       [](const Element& e) {
         const Expr alpha = e.attribute("alpha", 1);
         return choose_positive(e.x, e.x, alpha * exp_minus_1(tensor::divide(e.x, alpha)));
       }},
      {"Cos", kFloat, {}, apply<UnaryOp::cos>},
      {"Cosh", kFloat, {}, apply<UnaryOp::cosh>},
      // Inference only: the identity. `seed` affects training only.
      {"Dropout", kFloat, {{"seed", AttributeKind::integer}, {"ratio", real}}, [](const Element& e) { return e.x; }},
      {"Elu",
       kFloat,
       {{"alpha", real}},
       [](const Element& e) { return choose_positive(e.x, e.x, e.attribute("alpha", 1) * exp_minus_1(e.x)); }},
      {"Erf", kFloat, {}, apply<UnaryOp::erf>},
      {"Exp", kFloat, {}, apply<UnaryOp::exp>},
      {"Floor", kFloat, {}, apply<UnaryOp::floor>},
      {"Gelu", kFloat, {{"approximate", AttributeKind::text}}, gelu},
      {"HardSigmoid",
       kFloat,
       {{"alpha", real}, {"beta", real}},
       [](const Element& e) { return unit_clamp(e.attribute("alpha", 0.2) * e.x + e.attribute("beta", 0.5)); }},
      {"HardSwish",
       kFloat,
       {},
       [](const Element& e) { return e.x * unit_clamp(e.x * like(1.0 / 6, e.x) + like(0.5, e.x)); }},
      {"Identity", kAny, {}, [](const Element& e) { return e.x; }},
      {"IsInf",
       kFloat,
       {{"detect_negative", AttributeKind::integer}, {"detect_positive", AttributeKind::integer}},
       is_inf,
       true},
      {"IsNaN", kFloat, {}, apply<UnaryOp::is_nan>, true},
      {"LeakyRelu",
       kFloat,
       {{"alpha", real}},
       [](const Element& e) {
         return loops::select(tensor::less(e.x, like(0, e.x)), e.attribute("alpha", 0.01) * e.x, e.x);
       }},
      {"Log", kFloat, {}, apply<UnaryOp::log>},
      {"Mish", kFloat, {}, [](const Element& e) { return e.x * loops::unary(UnaryOp::tanh, softplus(e.x)); }},
      {"Neg", kSignedNumber, {}, apply<UnaryOp::neg>},
      {"Not", kBool, {}, apply<UnaryOp::logical_not>},
      {"Reciprocal", kFloat, {}, [](const Element& e) { return tensor::divide(like(1, e.x), e.x); }},
      {"Relu", kSignedNumber, {}, [](const Element& e) { return tensor::maximum(e.x, like(0, e.x)); }},
      {"Round", kFloat, {}, apply<UnaryOp::round_even>},
      {"Selu",
       kFloat,
       {{"alpha", real}, {"gamma", real}},
       [](const Element& e) {
         const Expr alpha = e.attribute("alpha", 1.67326319217681884765625),
                    gamma = e.attribute("gamma", 1.05070102214813232421875);
         return choose_positive(e.x, gamma * e.x, gamma * (alpha * exp_minus_1(e.x)));
       }},
      {"Shrink", kFloat, {{"bias", real}, {"lambd", real}}, shrink},
      {"Sigmoid", kFloat, {}, [](const Element& e) { return sigmoid(e.x); }},
      {"Sign", kNumber, {}, apply<UnaryOp::sign>},
      {"Sin", kFloat, {}, apply<UnaryOp::sin>},
      {"Sinh", kFloat, {}, apply<UnaryOp::sinh>},
      {"Softplus", kFloat, {}, [](const Element& e) { return softplus(e.x); }},
      {"Softsign",
       kFloat,
       {},
       [](const Element& e) { return tensor::divide(e.x, like(1, e.x) + tensor::absolute(e.x)); }},
      {"Sqrt", kFloat, {}, apply<UnaryOp::sqrt>},
      {"Swish",
       kFloat,
       {{"alpha", real}},
       [](const Element& e) { return e.x * sigmoid(e.attribute("alpha", 1) * e.x); }},
      {"Tan", kFloat, {}, apply<UnaryOp::tan>},
      {"Tanh", kFloat, {}, apply<UnaryOp::tanh>},
      {"ThresholdedRelu",
       kFloat,
       {{"alpha", real}},
       [](const Element& e) {
         return loops::select(tensor::greater(e.x, e.attribute("alpha", 1)), e.x, like(0, e.x));
       }},
  };
  return table;
}

const UnaryRow& unary_row(const Operands& operands) {
  const auto row = std::ranges::find(unary_rows(), std::string_view(operands.node.op), &UnaryRow::op);
  DOVETAIL_CHECK(row != unary_rows().end(), operands.node.op);
  return *row;
}

Result<Types> infer_unary(const Operands& operands) {
  const std::string approximate = graph::string_attribute(operands.node, "approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return refuse(operands, fmt::format("approximate is \"{}\", but must be none or tanh", approximate),
                  "fix the exporter");
  const graph::TensorType& x = operands.type(0);
  return Types{{unary_row(operands).yields_bool ? DType::boolean : x.dtype, x.shape}};
}

Result<loops::Program> define_unary(const Operands& operands) {
  Naive program(operands);
  return program.map([&](const Indices& i) {
    return unary_row(operands).value({operands, loops::load(program.in(0), i)});
  });
}

}  // namespace

std::vector<OpDef> unary_ops() {
  std::vector<OpDef> ops;
  for (const UnaryRow& row : unary_rows())
    ops.push_back({row.op, Category::injective, infer_unary, define_unary, {}, {{{"X", row.types}}, row.attributes}});
  return ops;
}

}  // namespace dovetail::ops
