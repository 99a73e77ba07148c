#include "loops/facts.h"

#include <algorithm>

#include "loops/range.h"
#include "loops/rewrite.h"
#include "loops/sharing.h"

namespace dovetail::loops {
namespace {

constexpr int kDepth = 3;  // facts combined in one proof: a two-sided condition and the bound of a split

std::int64_t coefficient_of(const Linear& linear, const Expr& atom) {
  const auto found = std::find_if(linear.terms.begin(), linear.terms.end(),
                                  [&](const LinearTerm& term) { return structurally_equal(term.atom, atom); });
  return found == linear.terms.end() ? 0 : found->coefficient;
}

// The linear form with its first quotient (coefficient 1 or -1) bounded by its dividend: k*(x//k) is in [x - (k-1),
// x]. For integers, L >= 0 follows from k*L + (k-1) >= 0.
std::optional<Linear> without_quotient(const Linear& linear) {
  for (const LinearTerm& term : linear.terms) {
    const auto* n = std::get_if<Binary>(&term.atom->node);
    if (n == nullptr || n->op != BinaryOp::floor_div || (term.coefficient != 1 && term.coefficient != -1)) continue;
    const auto* k = std::get_if<IntImm>(&n->b->node);
    if (k == nullptr || k->value <= 0) continue;
    Linear rest = linear;
    rest.add(term.atom, -term.coefficient);
    Linear result;
    result.add(rest, k->value);
    result.add(linear_form(n->a), term.coefficient);
    if (term.coefficient < 0) result.add(linear_form(int_imm(k->value - 1)), 1);
    return result;
  }
  return std::nullopt;
}

}  // namespace

void Facts::add(const Expr& large, const Expr& small, std::int64_t margin) {
  if (large->dtype != DType::int64) return;
  Linear fact = linear_form(simplify(large, *bounds_));
  fact.add(linear_form(simplify(small, *bounds_)), -1);
  fact.add(linear_form(int_imm(margin)), -1);
  const auto range = range_of(fact, *bounds_);
  if (!range) return;
  never_ |= !range->assumed && range->max < 0;
  facts_.push_back(fact);
  // The same fact without common factors, quotients and terms that have no effect, which is the form of other indices.
  const Expr tight = simplify(binary(BinaryOp::ge, to_expr(fact), int_imm(0)), *bounds_);
  const auto* n = std::get_if<Binary>(&tight->node);
  if (n == nullptr || n->op < BinaryOp::lt || n->op > BinaryOp::ge) return;
  const bool less = n->op == BinaryOp::lt || n->op == BinaryOp::le,
             strict = n->op == BinaryOp::lt || n->op == BinaryOp::gt;
  Linear tightened = linear_form(less ? n->b : n->a);
  tightened.add(linear_form(less ? n->a : n->b), -1);
  if (strict) tightened.add(linear_form(int_imm(1)), -1);
  fact.add(tightened, -1);
  if (!fact.terms.empty() && range_of(tightened, *bounds_)) facts_.push_back(std::move(tightened));
}

void Facts::assume(const Expr& condition) {
  Seen looked_at;
  assume(condition, looked_at);
}

void Facts::assume(const Expr& condition, Seen& looked_at) {
  if (!condition || looked_at.again(condition)) return;
  if (const auto* n = std::get_if<Unary>(&condition->node); n != nullptr && n->op == UnaryOp::logical_not)
    return assume_not(n->a);
  const auto* n = std::get_if<Binary>(&condition->node);
  if (n == nullptr) return;
  switch (n->op) {
    case BinaryOp::logical_and: assume(n->a, looked_at), assume(n->b, looked_at); return;
    case BinaryOp::lt: return add(n->b, n->a, 1);
    case BinaryOp::le: return add(n->b, n->a, 0);
    case BinaryOp::gt: return add(n->a, n->b, 1);
    case BinaryOp::ge: return add(n->a, n->b, 0);
    case BinaryOp::eq: add(n->a, n->b, 0), add(n->b, n->a, 0); return;
    default: return;
  }
}

void Facts::assume_not(const Expr& condition) {
  Seen looked_at;
  assume_not(condition, looked_at);
}

void Facts::assume_not(const Expr& condition, Seen& looked_at) {
  if (!condition || looked_at.again(condition)) return;
  if (const auto* n = std::get_if<Unary>(&condition->node); n != nullptr && n->op == UnaryOp::logical_not)
    return assume(n->a);
  const auto* n = std::get_if<Binary>(&condition->node);
  if (n == nullptr) return;
  switch (n->op) {
    case BinaryOp::logical_or: assume_not(n->a, looked_at), assume_not(n->b, looked_at); return;
    case BinaryOp::lt: return add(n->a, n->b, 0);
    case BinaryOp::le: return add(n->a, n->b, 1);
    case BinaryOp::gt: return add(n->b, n->a, 0);
    case BinaryOp::ge: return add(n->b, n->a, 1);
    case BinaryOp::ne: add(n->a, n->b, 0), add(n->b, n->a, 0); return;
    default: return;
  }
}

bool Facts::prove(const Linear& linear, int depth) const {
  const auto range = range_of(linear, *bounds_);
  if (!range) return false;
  if (!range->assumed && range->min >= 0) return true;
  if (depth == 0) return false;
  for (const Linear& fact : facts_) {
    // Subtract the multiple of the fact that cancels one of its atoms: if the rest is non-negative, so is the whole.
    for (const LinearTerm& term : fact.terms) {
      const std::int64_t own = coefficient_of(linear, term.atom);
      if (own == 0 || own % term.coefficient != 0 || own / term.coefficient <= 0) continue;
      Linear rest = linear;
      rest.add(fact, -(own / term.coefficient));
      if (prove(rest, depth - 1)) return true;
    }
  }
  const auto bounded = without_quotient(linear);
  return bounded && prove(*bounded, depth - 1);
}

bool Facts::non_negative(const Linear& linear) const { return never_ || prove(linear, kDepth); }

bool Facts::in_range(const Expr& expr, std::int64_t extent) const {
  if (never_) return true;
  const Range range = range_of(expr, *bounds_);
  if (range.within(0, extent - 1)) return true;
  const Linear form = linear_form(expr);
  if (!range_of(form, *bounds_)) return false;
  Linear below = linear_form(int_imm(extent - 1));
  below.add(form, -1);
  return (range.min >= 0 && !range.assumed ? true : non_negative(form)) && non_negative(below);
}

}  // namespace dovetail::loops
