#include "loops/simplify.h"

#include <functional>

#include "loops/integer.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/sharing.h"
#include "loops/simplify_rules.h"

namespace dovetail::loops {
namespace {

using Values = std::map<const VarNode*, std::int64_t>;

std::optional<std::int64_t> evaluate_binary(const Binary& n, const Values& values) {
  const auto a = evaluate(n.a, values);
  if (!a) return std::nullopt;
  const auto b = evaluate(n.b, values);
  return b ? fold(n.op, n.a->dtype, *a, *b) : std::nullopt;
}

class Simplifier {
 public:
  explicit Simplifier(const Bounds& bounds) : bounds_(bounds) {}

  Expr operator()(const Expr& expr) {
    if (!expr) return expr;
    return results_.of(expr, [&](const Expr& e) { return by_rules(with_simple_parts(e)); });
  }

 private:
  // A sum is collected once, not at every addition in it.
  Expr with_simple_parts(const Expr& expr) {
    if (expr->dtype != DType::int64 || !is_linear_op(expr)) return map_children(expr, std::ref(*this));
    const Linear form = linear_form(expr);
    if (form.terms.size() == 1 && form.terms[0].atom == expr)  // a product of two atoms
      return map_children(expr, std::ref(*this));
    Linear simple;
    simple.constant = form.constant;
    bool same = true;
    for (const LinearTerm& term : form.terms) {
      const Expr atom = (*this)(term.atom);
      same &= atom == term.atom;
      if (is_linear_op(atom) || std::holds_alternative<IntImm>(atom->node))
        simple.add(linear_form(atom), term.coefficient);
      else simple.add(atom, term.coefficient);
    }
    if (same && is_collected(expr)) return expr;
    const Expr sum = to_expr(simple);
    return structurally_equal(sum, expr) ? expr : sum;
  }

  Expr by_rules(const Expr& node) {
    const Shapes shape = shape_of(node);
    if (shape == 0) return node;
    for (const SimplifyRule& rule : simplify_rules()) {
      if ((rule.shapes & shape) == 0) continue;
      // The result is new, so its parts may simplify further. Every rule decreases a measure
      // (docs/reference/loop-programs.md), so this terminates.
      if (Expr replaced = rule.apply(node, bounds_)) return (*this)(replaced);
    }
    return node;
  }

  const Bounds& bounds_;
  SharedResults<Expr> results_;
};

}  // namespace

Expr simplify(const Expr& expr, const Bounds& bounds) { return Simplifier(bounds)(expr); }

std::optional<Affine> affine(const Expr& expr, const Bounds& bounds) {
  const Expr simple = simplify(expr, bounds);
  Affine result;
  if (simple->dtype != DType::int64) {
    const auto* n = std::get_if<VarRef>(&simple->node);
    if (n == nullptr || !is_integer(simple->dtype)) return std::nullopt;
    result.coefficients[n->var.get()] = 1;
    return result;
  }
  const Linear linear = linear_form(simple);
  result.constant = linear.constant;
  for (const LinearTerm& term : linear.terms) {
    const auto* n = std::get_if<VarRef>(&term.atom->node);
    if (n == nullptr) return std::nullopt;
    result.coefficients[n->var.get()] = term.coefficient;
  }
  return result;
}

std::optional<std::int64_t> evaluate(const Expr& expr, const std::map<const VarNode*, std::int64_t>& values) {
  if (is_floating(expr->dtype)) return std::nullopt;
  if (const auto* n = std::get_if<IntImm>(&expr->node)) return n->value;
  if (const auto* n = std::get_if<VarRef>(&expr->node)) {
    const auto found = values.find(n->var.get());
    return found == values.end() ? std::nullopt : std::optional(wrap(found->second, expr->dtype));
  }
  if (const auto* n = std::get_if<Unary>(&expr->node)) {
    const auto a = evaluate(n->a, values);
    return a ? fold(n->op, n->a->dtype, *a) : std::nullopt;
  }
  if (const auto* n = std::get_if<Binary>(&expr->node)) return evaluate_binary(*n, values);
  if (const auto* n = std::get_if<Cast>(&expr->node)) {
    const auto a = evaluate(n->a, values);
    return a ? std::optional(wrap(*a, expr->dtype)) : std::nullopt;
  }
  if (const auto* n = std::get_if<Select>(&expr->node)) {
    const auto condition = evaluate(n->condition, values);
    return condition ? evaluate(*condition != 0 ? n->if_true : n->if_false, values) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dovetail::loops
