#include "loops/threads/formula.h"

#include <bit>
#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"

namespace dovetail::loops {

namespace {

std::optional<std::uint64_t> literal(const Expr& expr) {
  const auto* n = std::get_if<IntImm>(&expr->node);
  return n != nullptr && expr->dtype == DType::int64 ? std::optional(static_cast<std::uint64_t>(n->value))
                                                     : std::nullopt;
}

}  // namespace

std::size_t Formulas::buffer(const BufferNode& buffer) {
  const auto [at, fresh] = buffer_numbers_.emplace(&buffer, buffers.size());
  if (fresh) buffers.push_back(&buffer);
  return at->second;
}

std::uint32_t Formulas::add(Formula formula) {
  formulas.push_back(formula);
  return static_cast<std::uint32_t>(formulas.size() - 1);
}

std::uint32_t Formulas::formula(const Expr& expr) {
  const auto known = known_.find(expr.get());
  if (known != known_.end()) return known->second;
  const std::uint32_t made = make(*expr);
  known_.emplace(expr.get(), made);
  return made;
}

std::uint32_t Formulas::index(const Expr& expr) {
  const auto known = indices_.find(expr.get());
  if (known != indices_.end()) return known->second;
  std::uint32_t made = formula(expr);
  if (expr->dtype != DType::int64)
    made = add({.kind = Formula::Kind::convert, .a = made, .function1 = conversion(expr->dtype, DType::int64)});
  indices_.emplace(expr.get(), made);
  return made;
}

std::size_t Formulas::access(const BufferNode& buffer, const std::vector<Expr>& indices) {
  Access made{&buffer, this->buffer(buffer), {}};
  for (const Expr& expr : indices) made.indices.push_back(index(expr));
  accesses.push_back(std::move(made));
  return accesses.size() - 1;
}

// The result of int64 sums and products with literals of the expression, times `factor`.
void Formulas::collect(const Expr& expr, std::uint64_t factor, Sum& sum) {
  if (const auto value = literal(expr)) {
    sum.constant += *value * factor;
    return;
  }
  if (const auto* n = std::get_if<VarRef>(&expr->node)) {
    sum.variables.push_back({variable(*n->var), factor});
    return;
  }
  if (const auto* n = std::get_if<Binary>(&expr->node)) {
    if (n->op == BinaryOp::add || n->op == BinaryOp::sub) {
      collect(n->a, factor, sum);
      collect(n->b, n->op == BinaryOp::add ? factor : 0 - factor, sum);
      return;
    }
    const auto a = literal(n->a), b = literal(n->b);
    if (n->op == BinaryOp::mul && (a || b)) return collect(a ? n->b : n->a, factor * (a ? *a : *b), sum);
  }
  sum.others.push_back({formula(expr), factor});
}

std::uint32_t Formulas::make(const ExprNode& expr) {
  using Kind = Formula::Kind;
  struct Visitor {
    Formulas& all;
    const ExprNode& expr;
    std::uint32_t operator()(const IntImm& n) const {
      return all.add({.kind = Kind::constant, .value = scalar_literal(expr.dtype, n.value)});
    }
    std::uint32_t operator()(const FloatImm& n) const {
      return all.add({.kind = Kind::constant, .value = scalar_literal(expr.dtype, n.value)});
    }
    std::uint32_t operator()(const VarRef& n) const {
      const std::uint32_t made =
          all.add({.kind = Kind::variable, .number = static_cast<std::uint32_t>(all.variable(*n.var))});
      if (expr.dtype == DType::int64) return made;
      return all.add({.kind = Kind::convert, .a = made, .function1 = conversion(DType::int64, expr.dtype)});
    }
    std::uint32_t operator()(const Unary& n) const {
      return all.add({.kind = Kind::unary, .a = all.formula(n.a), .function1 = function_of(n.op, n.a->dtype)});
    }
    std::uint32_t operator()(const Binary& n) const {
      const std::optional<std::uint64_t> a = literal(n.a), b = literal(n.b);
      if (expr.dtype == DType::int64) {
        Sum sum;
        if (n.op == BinaryOp::add || n.op == BinaryOp::sub) {
          all.collect(n.a, 1, sum);
          all.collect(n.b, n.op == BinaryOp::add ? 1 : ~std::uint64_t{0}, sum);
          return add(sum);
        }
        if (n.op == BinaryOp::mul && (a || b)) {
          all.collect(a ? n.b : n.a, a ? *a : *b, sum);
          return add(sum);
        }
        const bool halves = b && std::has_single_bit(*b) && static_cast<std::int64_t>(*b) > 0;
        if (n.op == BinaryOp::floor_div && halves)
          return all.add(
              {.kind = Kind::shift, .number = static_cast<std::uint32_t>(std::countr_zero(*b)), .a = all.formula(n.a)});
        if (n.op == BinaryOp::floor_mod && halves)
          return all.add({.kind = Kind::mask, .value = ScalarValue::of(*b - 1), .a = all.formula(n.a)});
      }
      return all.add({.kind = Kind::binary,
                      .a = all.formula(n.a),
                      .b = all.formula(n.b),
                      .function2 = function_of(n.op, n.a->dtype)});
    }
    std::uint32_t add(const Sum& sum) const {
      const auto size = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
      const Formula made{.kind = Kind::sum,
                         .value = ScalarValue::of(sum.constant),
                         .number = size(all.terms),
                         .count = size(sum.variables),
                         .more = size(sum.others)};
      all.terms.insert(all.terms.end(), sum.variables.begin(), sum.variables.end());
      all.terms.insert(all.terms.end(), sum.others.begin(), sum.others.end());
      return all.add(made);
    }
    std::uint32_t operator()(const Cast& n) const {
      return all.add({.kind = Kind::convert, .a = all.formula(n.a), .function1 = conversion(n.a->dtype, expr.dtype)});
    }
    std::uint32_t operator()(const Bitcast& n) const {
      return all.add(
          {.kind = Kind::convert, .a = all.formula(n.a), .function1 = bit_conversion(n.a->dtype, expr.dtype)});
    }
    std::uint32_t operator()(const Select& n) const {
      return all.add({.kind = Kind::select,
                      .a = all.formula(n.condition),
                      .b = all.formula(n.if_true),
                      .c = all.formula(n.if_false)});
    }
    std::uint32_t operator()(const LoadExpr& n) const {
      return all.add({.kind = Kind::load, .number = static_cast<std::uint32_t>(all.access(*n.buffer, n.indices))});
    }
    std::uint32_t operator()(const Call& n) const {
      switch (n.function) {
        case Function::requantize: break;
      }
      return all.add({.kind = Kind::requantize,
                      .a = all.formula(n.arguments[0]),
                      .b = all.formula(n.arguments[1]),
                      .c = all.formula(n.arguments[2])});
    }
  };
  return std::visit(Visitor{*this, expr}, expr.node);
}

}  // namespace dovetail::loops
