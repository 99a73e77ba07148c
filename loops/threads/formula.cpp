#include "loops/threads/formula.h"

#include <optional>
#include <utility>
#include <variant>

#include "base/check.h"

namespace dovetail::loops {

namespace {

ScalarValue of_int64(std::uint64_t value) { return ScalarValue::of(value); }

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

std::size_t Formulas::add(Formula formula) {
  formulas.push_back(formula);
  return formulas.size() - 1;
}

std::size_t Formulas::formula(const Expr& expr) {
  const auto known = known_.find(expr.get());
  if (known != known_.end()) return known->second;
  const std::size_t made = make(*expr);
  known_.emplace(expr.get(), made);
  return made;
}

std::size_t Formulas::index(const Expr& expr) {
  const auto known = indices_.find(expr.get());
  if (known != indices_.end()) return known->second;
  std::size_t made = formula(expr);
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

// What int64 sums and products with literals make of the expression, times `factor`.
void Formulas::collect(const Expr& expr, std::uint64_t factor, std::vector<Term>& found, std::uint64_t& constant) {
  if (const auto value = literal(expr)) {
    constant += *value * factor;
    return;
  }
  if (const auto* n = std::get_if<VarRef>(&expr->node)) {
    found.push_back({true, variable(*n->var), factor});
    return;
  }
  if (const auto* n = std::get_if<Binary>(&expr->node)) {
    if (n->op == BinaryOp::add || n->op == BinaryOp::sub) {
      collect(n->a, factor, found, constant);
      collect(n->b, n->op == BinaryOp::add ? factor : 0 - factor, found, constant);
      return;
    }
    const auto a = literal(n->a), b = literal(n->b);
    if (n->op == BinaryOp::mul && (a || b)) return collect(a ? n->b : n->a, factor * (a ? *a : *b), found, constant);
  }
  found.push_back({false, formula(expr), factor});
}

std::size_t Formulas::make(const ExprNode& expr) {
  using Kind = Formula::Kind;
  struct Visitor {
    Formulas& all;
    const ExprNode& expr;
    std::size_t operator()(const IntImm& n) const {
      return all.add({.kind = Kind::constant, .value = scalar_literal(expr.dtype, n.value)});
    }
    std::size_t operator()(const FloatImm& n) const {
      return all.add({.kind = Kind::constant, .value = scalar_literal(expr.dtype, n.value)});
    }
    std::size_t operator()(const VarRef& n) const {
      const std::size_t made = all.add({.kind = Kind::variable, .number = all.variable(*n.var)});
      if (expr.dtype == DType::int64) return made;
      return all.add({.kind = Kind::convert, .a = made, .function1 = conversion(DType::int64, expr.dtype)});
    }
    std::size_t operator()(const Unary& n) const {
      return all.add({.kind = Kind::unary, .a = all.formula(n.a), .function1 = function_of(n.op, n.a->dtype)});
    }
    std::size_t operator()(const Binary& n) const {
      const bool sums =
          n.op == BinaryOp::add || n.op == BinaryOp::sub || (n.op == BinaryOp::mul && (literal(n.a) || literal(n.b)));
      if (!sums || expr.dtype != DType::int64)
        return all.add({.kind = Kind::binary,
                        .a = all.formula(n.a),
                        .b = all.formula(n.b),
                        .function2 = function_of(n.op, n.a->dtype)});
      std::vector<Term> found;
      std::uint64_t constant = 0;
      if (n.op == BinaryOp::mul) {
        const auto a = literal(n.a), b = literal(n.b);
        all.collect(a ? n.b : n.a, a ? *a : *b, found, constant);
      } else {
        all.collect(n.a, 1, found, constant);
        all.collect(n.b, n.op == BinaryOp::add ? 1 : ~std::uint64_t{0}, found, constant);
      }
      const std::size_t first = all.terms.size();
      all.terms.insert(all.terms.end(), found.begin(), found.end());
      return all.add({.kind = Kind::sum, .value = of_int64(constant), .number = first, .count = found.size()});
    }
    std::size_t operator()(const Cast& n) const {
      return all.add({.kind = Kind::convert, .a = all.formula(n.a), .function1 = conversion(n.a->dtype, expr.dtype)});
    }
    std::size_t operator()(const Bitcast& n) const {
      return all.add(
          {.kind = Kind::convert, .a = all.formula(n.a), .function1 = bit_conversion(n.a->dtype, expr.dtype)});
    }
    std::size_t operator()(const Select& n) const {
      return all.add({.kind = Kind::select,
                      .a = all.formula(n.condition),
                      .b = all.formula(n.if_true),
                      .c = all.formula(n.if_false)});
    }
    std::size_t operator()(const LoadExpr& n) const {
      return all.add({.kind = Kind::load, .number = all.access(*n.buffer, n.indices)});
    }
    std::size_t operator()(const Call& n) const {
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
