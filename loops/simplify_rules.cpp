#include "loops/simplify_rules.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "loops/integer.h"
#include "loops/linear.h"
#include "loops/range.h"
#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

std::optional<std::int64_t> literal(const Expr& expr) {
  const auto* n = std::get_if<IntImm>(&expr->node);
  return n == nullptr ? std::nullopt : std::optional(n->value);
}

Expr same_or_null(const Expr& original, Expr replacement) {
  return structurally_equal(original, replacement) ? nullptr : replacement;
}

// x op k with a positive constant k, where x is int64 and its linear form is exact.
struct ByConstant {
  Expr x;
  std::int64_t k;
  Linear form;
};
std::optional<ByConstant> by_constant(const Expr& expr, BinaryOp op, const Bounds& bounds) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || n->op != op || expr->dtype != DType::int64) return std::nullopt;
  const auto k = literal(n->b);
  if (!k || *k <= 0) return std::nullopt;
  Linear form = linear_form(n->a);
  if (!range_of(form, bounds)) return std::nullopt;
  return ByConstant{n->a, *k, std::move(form)};
}

Expr fold_constants(const Expr& expr, const Bounds&) {
  const auto* binary = std::get_if<Binary>(&expr->node);
  const auto* unary = std::get_if<Unary>(&expr->node);
  const auto* conversion = std::get_if<Cast>(&expr->node);
  const Expr* a = binary != nullptr       ? &binary->a
                  : unary != nullptr      ? &unary->a
                  : conversion != nullptr ? &conversion->a
                                          : nullptr;
  if (a == nullptr || !literal(*a) || (binary != nullptr && !literal(binary->b)) || is_floating(expr->dtype))
    return nullptr;
  const auto value = evaluate(expr, {});
  return value ? int_imm(*value, expr->dtype) : nullptr;
}

Expr single_value(const Expr& expr, const Bounds& bounds) {
  if (is_floating(expr->dtype) || std::holds_alternative<IntImm>(expr->node)) return nullptr;
  const Range range = range_of(expr, bounds);
  return range.single() ? int_imm(range.min, expr->dtype) : nullptr;
}

struct Quotient {  // atom = x op k
  Expr x;
  std::int64_t k;
};
std::optional<Quotient> quotient(const Expr& atom, BinaryOp op) {
  const auto* n = std::get_if<Binary>(&atom->node);
  if (n == nullptr || n->op != op) return std::nullopt;
  const auto k = literal(n->b);
  return k && *k > 0 ? std::optional(Quotient{n->a, *k}) : std::nullopt;
}

bool product_is(std::int64_t a, std::int64_t b, std::int64_t product) {
  std::int64_t result;
  return !__builtin_mul_overflow(a, b, &result) && result == product;
}

// Recombines a quotient with its remainder, for one pair of terms; returns true if `linear` changed.
bool join_quotient_and_remainder(Linear& linear) {
  for (const LinearTerm& low : linear.terms) {
    const auto remainder = quotient(low.atom, BinaryOp::floor_mod);
    if (!remainder) continue;
    for (const LinearTerm& high : linear.terms) {
      if (!product_is(low.coefficient, remainder->k, high.coefficient)) continue;
      Linear joined;
      if (const auto q = quotient(high.atom, BinaryOp::floor_div);
          q && q->k == remainder->k && structurally_equal(q->x, remainder->x)) {
        joined = linear_form(q->x);
      } else if (const auto outer = quotient(high.atom, BinaryOp::floor_mod)) {
        const auto inner = quotient(outer->x, BinaryOp::floor_div);
        std::int64_t modulus;
        if (!inner || inner->k != remainder->k || !structurally_equal(inner->x, remainder->x)) continue;
        if (__builtin_mul_overflow(inner->k, outer->k, &modulus)) continue;
        joined.add(floor_mod(inner->x, modulus), 1);
      } else {
        continue;
      }
      const LinearTerm low_term = low, high_term = high;
      linear.add(low_term.atom, -low_term.coefficient);
      linear.add(high_term.atom, -high_term.coefficient);
      linear.add(joined, low_term.coefficient);
      return true;
    }
  }
  return false;
}

// a*x - (a*k)*(x // k) = a*(x % k), if the terms of x are all in the sum.
bool form_remainder(Linear& linear) {
  for (const LinearTerm& term : linear.terms) {
    const auto q = quotient(term.atom, BinaryOp::floor_div);
    if (!q || term.coefficient % q->k != 0 || term.coefficient == type_min(DType::int64)) continue;
    const std::int64_t factor = -(term.coefficient / q->k);
    const Linear x = linear_form(q->x);
    const bool present = !x.terms.empty() && std::all_of(x.terms.begin(), x.terms.end(), [&](const LinearTerm& part) {
      return std::any_of(linear.terms.begin(), linear.terms.end(), [&](const LinearTerm& other) {
        return structurally_equal(other.atom, part.atom) && product_is(part.coefficient, factor, other.coefficient);
      });
    });
    if (!present) continue;
    const LinearTerm removed = term;
    linear.add(removed.atom, -removed.coefficient);
    linear.add(x, -factor);
    linear.add(floor_mod(q->x, q->k), factor);
    return true;
  }
  return false;
}

Expr collect_terms(const Expr& expr, const Bounds&) {
  if (expr->dtype != DType::int64 || !is_linear_op(expr) || is_collected(expr)) return nullptr;
  return same_or_null(expr, to_expr(linear_form(expr)));
}

Expr join_div_mod(const Expr& expr, const Bounds&) {
  if (expr->dtype != DType::int64 || !is_linear_op(expr)) return nullptr;
  Linear linear = linear_form(expr);
  return join_quotient_and_remainder(linear) || form_remainder(linear) ? to_expr(linear) : nullptr;
}

Expr neutral_operand(const Expr& expr, const Bounds&) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || is_floating(n->a->dtype)) return nullptr;
  const auto a = literal(n->a);
  const auto b = literal(n->b);
  switch (n->op) {
    case BinaryOp::add:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor: return b == 0 ? n->a : a == 0 ? n->b : nullptr;
    case BinaryOp::sub:
    case BinaryOp::shl:
    case BinaryOp::shr: return b == 0 ? n->a : nullptr;
    case BinaryOp::mul: return b == 1 ? n->a : a == 1 ? n->b : b == 0 ? n->b : a == 0 ? n->a : nullptr;
    case BinaryOp::div:
    case BinaryOp::floor_div: return b == 1 ? n->a : nullptr;
    case BinaryOp::mod:
    case BinaryOp::floor_mod: return b == 1 ? int_imm(0, expr->dtype) : nullptr;
    case BinaryOp::logical_and: return b == 1 ? n->a : a == 1 ? n->b : b == 0 ? n->b : a == 0 ? n->a : nullptr;
    case BinaryOp::logical_or: return b == 0 ? n->a : a == 0 ? n->b : b == 1 ? n->b : a == 1 ? n->a : nullptr;
    default: return nullptr;
  }
}

Expr same_operands(const Expr& expr, const Bounds&) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || is_floating(n->a->dtype) || !structurally_equal(n->a, n->b)) return nullptr;
  switch (n->op) {
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or: return n->a;
    case BinaryOp::bit_xor: return int_imm(0, expr->dtype);
    case BinaryOp::eq:
    case BinaryOp::le:
    case BinaryOp::ge: return bool_imm(true);
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::gt: return bool_imm(false);
    default: return nullptr;
  }
}

Expr double_negation(const Expr& expr, const Bounds&) {
  const auto* n = std::get_if<Unary>(&expr->node);
  if (n == nullptr || n->op != UnaryOp::logical_not) return nullptr;
  const auto* inner = std::get_if<Unary>(&n->a->node);
  return inner != nullptr && inner->op == UnaryOp::logical_not ? inner->a : nullptr;
}

Expr truncating_to_floor(const Expr& expr, const Bounds& bounds) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || (n->op != BinaryOp::div && n->op != BinaryOp::mod) || expr->dtype != DType::int64) return nullptr;
  const auto k = literal(n->b);
  const Range x = range_of(n->a, bounds);
  if (!k || *k <= 0 || x.assumed || x.min < 0) return nullptr;
  return binary(n->op == BinaryOp::div ? BinaryOp::floor_div : BinaryOp::floor_mod, n->a, n->b);
}

Expr div_of_multiples(const Expr& expr, const Bounds& bounds) {
  const auto n = by_constant(expr, BinaryOp::floor_div, bounds);
  if (!n || n->k == 1) return nullptr;
  Linear whole, rest;
  for (const LinearTerm& term : n->form.terms)
    term.coefficient % n->k == 0 ? whole.add(term.atom, term.coefficient / n->k)
                                 : rest.add(term.atom, term.coefficient);
  whole.constant = floor_div(n->form.constant, n->k);
  rest.constant = floor_mod(n->form.constant, n->k);
  if ((whole.terms.empty() && whole.constant == 0) || !range_of(rest, bounds)) return nullptr;
  return to_expr(whole) + floor_div(to_expr(rest), n->k);
}

Expr mod_of_multiples(const Expr& expr, const Bounds& bounds) {
  const auto n = by_constant(expr, BinaryOp::floor_mod, bounds);
  if (!n || n->k == 1) return nullptr;
  Linear rest;
  for (const LinearTerm& term : n->form.terms)
    if (term.coefficient % n->k != 0) rest.add(term.atom, term.coefficient);
  rest.constant = floor_mod(n->form.constant, n->k);
  if (rest.terms.size() == n->form.terms.size() && rest.constant == n->form.constant) return nullptr;
  return range_of(rest, bounds) ? floor_mod(to_expr(rest), n->k) : nullptr;
}

Expr mod_in_range(const Expr& expr, const Bounds& bounds) {
  const auto n = by_constant(expr, BinaryOp::floor_mod, bounds);
  if (!n) return nullptr;
  const Range x = range_of(n->x, bounds);
  if (x.assumed || floor_div(x.min, n->k) != floor_div(x.max, n->k)) return nullptr;
  Linear shifted = n->form;
  std::int64_t below;
  if (__builtin_mul_overflow(floor_div(x.min, n->k), n->k, &below) ||
      __builtin_sub_overflow(shifted.constant, below, &shifted.constant))
    return nullptr;
  return to_expr(shifted);
}

// x = g*A + r with 0 <= r < g, g | k, the largest such g > 1.
struct CommonFactor {
  std::int64_t g;
  Linear multiple;  // A
  Linear rest;      // r
};
std::optional<CommonFactor> common_factor(const ByConstant& n, const Bounds& bounds) {
  std::vector<std::int64_t> candidates;
  for (const LinearTerm& term : n.form.terms)
    if (const std::int64_t g = std::gcd(term.coefficient, n.k); g > 1) candidates.push_back(g);
  std::sort(candidates.rbegin(), candidates.rend());
  for (const std::int64_t g : candidates) {
    CommonFactor found{g, {}, {}};
    for (const LinearTerm& term : n.form.terms)
      term.coefficient % g == 0 ? found.multiple.add(term.atom, term.coefficient / g)
                                : found.rest.add(term.atom, term.coefficient);
    found.multiple.constant = floor_div(n.form.constant, g);
    found.rest.constant = floor_mod(n.form.constant, g);
    const auto rest = range_of(found.rest, bounds);
    if (rest && rest->within(0, g - 1) && range_of(found.multiple, bounds)) return found;
  }
  return std::nullopt;
}

Expr div_by_common_factor(const Expr& expr, const Bounds& bounds) {
  const auto n = by_constant(expr, BinaryOp::floor_div, bounds);
  if (!n) return nullptr;
  const auto factor = common_factor(*n, bounds);
  return factor ? floor_div(to_expr(factor->multiple), n->k / factor->g) : nullptr;
}

Expr mod_by_common_factor(const Expr& expr, const Bounds& bounds) {
  const auto n = by_constant(expr, BinaryOp::floor_mod, bounds);
  if (!n) return nullptr;
  const auto factor = common_factor(*n, bounds);
  return factor ? floor_mod(to_expr(factor->multiple), n->k / factor->g) * factor->g + to_expr(factor->rest) : nullptr;
}

Expr div_of_div(const Expr& expr, const Bounds&) {
  const auto outer = quotient(expr, BinaryOp::floor_div);
  if (!outer || expr->dtype != DType::int64) return nullptr;
  const auto inner = quotient(outer->x, BinaryOp::floor_div);
  std::int64_t product;
  if (!inner || __builtin_mul_overflow(inner->k, outer->k, &product)) return nullptr;
  return floor_div(inner->x, product);
}

Expr mod_of_mod(const Expr& expr, const Bounds&) {
  const auto outer = quotient(expr, BinaryOp::floor_mod);
  if (!outer || expr->dtype != DType::int64) return nullptr;
  const auto inner = quotient(outer->x, BinaryOp::floor_mod);
  return inner && inner->k % outer->k == 0 ? floor_mod(inner->x, outer->k) : nullptr;
}

Expr div_of_mod(const Expr& expr, const Bounds&) {
  const auto outer = quotient(expr, BinaryOp::floor_div);
  if (!outer || expr->dtype != DType::int64) return nullptr;
  const auto inner = quotient(outer->x, BinaryOp::floor_mod);
  return inner && inner->k % outer->k == 0 ? floor_mod(floor_div(inner->x, outer->k), inner->k / outer->k) : nullptr;
}

Expr min_max_decided(const Expr& expr, const Bounds& bounds) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || (n->op != BinaryOp::min && n->op != BinaryOp::max) || is_floating(expr->dtype)) return nullptr;
  const Range a_first = range_of(binary(BinaryOp::le, n->a, n->b), bounds);  // a <= b
  if (a_first.single()) return (a_first.min == 1) == (n->op == BinaryOp::min) ? n->a : n->b;
  const Range b_first = range_of(binary(BinaryOp::le, n->b, n->a), bounds);
  return b_first.single() ? ((b_first.min == 1) == (n->op == BinaryOp::min) ? n->b : n->a) : nullptr;
}

// min(min(x, a), b) = min(x, min(a, b)) for literals; literals are on the right.
Expr nested_min_max(const Expr& expr, const Bounds&) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || (n->op != BinaryOp::min && n->op != BinaryOp::max) || is_floating(expr->dtype)) return nullptr;
  if (literal(n->a)) return binary(n->op, n->b, n->a);
  const auto* inner = std::get_if<Binary>(&n->a->node);
  const auto b = literal(n->b);
  if (inner == nullptr || inner->op != n->op || !b) return nullptr;
  const auto a = literal(inner->b);
  return a ? binary(n->op, inner->a, int_imm(*fold(n->op, expr->dtype, *a, *b), expr->dtype)) : nullptr;
}

// ---- Comparisons of int64: their difference, compared with 0
// -------------------------------------------------------------------------

struct Comparison {
  BinaryOp op;
  Linear difference;  // exact, left side minus right side
};
std::optional<Comparison> as_comparison(const Expr& expr, const Bounds& bounds) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || n->op < BinaryOp::eq || n->op > BinaryOp::ge || n->a->dtype != DType::int64) return std::nullopt;
  const Linear left = linear_form(n->a), right = linear_form(n->b);
  Comparison result{n->op, left};
  result.difference.add(right, -1);
  if (!range_of(left, bounds) || !range_of(right, bounds) || !range_of(result.difference, bounds)) return std::nullopt;
  return result;
}

BinaryOp mirrored(BinaryOp op) {
  switch (op) {
    case BinaryOp::lt: return BinaryOp::gt;
    case BinaryOp::le: return BinaryOp::ge;
    case BinaryOp::gt: return BinaryOp::lt;
    case BinaryOp::ge: return BinaryOp::le;
    default: return op;
  }
}

// Positive terms on the left; negative ones, negated, and the constant on the right; at least one term on the left.
Expr to_expr(Comparison comparison) {
  Linear& difference = comparison.difference;
  const bool positive = std::any_of(difference.terms.begin(), difference.terms.end(),
                                    [](const LinearTerm& term) { return term.coefficient > 0; });
  if (!positive) {
    Linear negated;
    negated.add(difference, -1);
    difference = std::move(negated);
    comparison.op = mirrored(comparison.op);
  }
  Linear left, right;
  for (const LinearTerm& term : difference.terms)
    term.coefficient > 0 ? left.add(term.atom, term.coefficient) : right.add(term.atom, -term.coefficient);
  right.constant = -difference.constant;
  return binary(comparison.op, loops::to_expr(left), loops::to_expr(right));
}

Expr collect_comparison(const Expr& expr, const Bounds& bounds) {
  const auto comparison = as_comparison(expr, bounds);
  if (!comparison || comparison->difference.terms.empty() || comparison->difference.constant == type_min(DType::int64))
    return nullptr;
  return same_or_null(expr, to_expr(*comparison));
}

// x//k < c becomes x < c*k, and similarly for the other comparisons.
Expr compare_quotient(const Expr& expr, const Bounds& bounds) {
  const auto comparison = as_comparison(expr, bounds);
  if (!comparison || comparison->difference.terms.size() != 1) return nullptr;
  const LinearTerm& term = comparison->difference.terms[0];
  const auto q = quotient(term.atom, BinaryOp::floor_div);
  if (!q || (term.coefficient != 1 && term.coefficient != -1) ||
      comparison->difference.constant == type_min(DType::int64))
    return nullptr;
  // q op c
  const BinaryOp op = term.coefficient == 1 ? comparison->op : mirrored(comparison->op);
  const std::int64_t c = term.coefficient == 1 ? -comparison->difference.constant : comparison->difference.constant;
  const bool above = op == BinaryOp::le || op == BinaryOp::gt;  // q <= c iff q < c + 1, q > c iff q >= c + 1
  std::int64_t limit;
  if (op == BinaryOp::eq || op == BinaryOp::ne || __builtin_add_overflow(c, above ? 1 : 0, &limit) ||
      __builtin_mul_overflow(limit, q->k, &limit))
    return nullptr;
  return binary(op == BinaryOp::lt || op == BinaryOp::le ? BinaryOp::lt : BinaryOp::ge, q->x, int_imm(limit));
}

// g*A + r < 0 iff A < 0, and g*A + r >= 0 iff A >= 0, for 0 <= r < g.
Expr compare_by_common_factor(const Expr& expr, const Bounds& bounds) {
  auto comparison = as_comparison(expr, bounds);
  if (!comparison) return nullptr;
  Linear& difference = comparison->difference;
  const bool equality = comparison->op == BinaryOp::eq || comparison->op == BinaryOp::ne;
  if (comparison->op == BinaryOp::le || comparison->op == BinaryOp::gt) {  // d <= 0 iff d - 1 < 0
    if (__builtin_sub_overflow(difference.constant, 1, &difference.constant)) return nullptr;
    comparison->op = comparison->op == BinaryOp::le ? BinaryOp::lt : BinaryOp::ge;
  }
  std::vector<std::int64_t> candidates;
  for (const LinearTerm& term : difference.terms)
    if (term.coefficient != type_min(DType::int64) && std::abs(term.coefficient) > 1)
      candidates.push_back(std::abs(term.coefficient));
  if (equality && !candidates.empty()) {
    std::int64_t common = 0;
    for (const LinearTerm& term : difference.terms) common = std::gcd(common, term.coefficient);
    candidates = {common};
    if (common <= 1) return nullptr;
    if (difference.constant % common != 0) return bool_imm(comparison->op == BinaryOp::ne);
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (const std::int64_t g : candidates) {
    Comparison result{comparison->op, {}};
    Linear rest;
    for (const LinearTerm& term : difference.terms)
      term.coefficient % g == 0 ? result.difference.add(term.atom, term.coefficient / g)
                                : rest.add(term.atom, term.coefficient);
    const auto range = range_of(rest, bounds);
    if (!range || range->assumed || range->max - range->min >= g) continue;
    // Reduces the constant so that the rest is at least 0.
    const std::int64_t taken = floor_mod(difference.constant + range->min, g) - range->min;
    if (range->max + taken >= g) continue;
    result.difference.constant = (difference.constant - taken) / g;
    return to_expr(result);
  }
  return nullptr;
}

std::vector<Expr> conjuncts(const Expr& expr) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || n->op != BinaryOp::logical_and) return {expr};
  std::vector<Expr> terms = conjuncts(n->a);
  for (Expr& term : conjuncts(n->b)) terms.push_back(std::move(term));
  return terms;
}

// Bounds on the same sum: d >= 0 follows from d - 3 >= 0.
bool implies(const Expr& a, const Expr& b, const Bounds& bounds) {
  if (structurally_equal(a, b)) return true;
  const auto at_least_0 = [&](const Expr& expr) -> std::optional<Linear> {
    const auto comparison = as_comparison(expr, bounds);
    if (!comparison || comparison->op == BinaryOp::eq || comparison->op == BinaryOp::ne) return std::nullopt;
    const bool below = comparison->op == BinaryOp::lt || comparison->op == BinaryOp::le;
    const bool strict = comparison->op == BinaryOp::lt || comparison->op == BinaryOp::gt;
    Linear result;
    result.add(comparison->difference, below ? -1 : 1);
    if (strict && __builtin_sub_overflow(result.constant, 1, &result.constant)) return std::nullopt;
    return result;
  };
  const auto x = at_least_0(a);
  if (!x) return false;
  auto y = at_least_0(b);
  if (!y) return false;
  const std::int64_t x_constant = x->constant, y_constant = y->constant;
  y->add(*x, -1);
  return y->terms.empty() && x_constant <= y_constant;
}

Expr implied_conjunct(const Expr& expr, const Bounds& bounds) {
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || n->op != BinaryOp::logical_and) return nullptr;
  const std::vector<Expr> terms = conjuncts(expr);
  std::vector<Expr> kept;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    bool implied = false;
    for (std::size_t j = 0; j < terms.size() && !implied; ++j)  // if two terms imply each other, the first remains
      implied = j != i && implies(terms[j], terms[i], bounds) && (j < i || !implies(terms[i], terms[j], bounds));
    if (!implied) kept.push_back(terms[i]);
  }
  if (kept.size() == terms.size()) return nullptr;
  Expr result = kept.front();
  for (std::size_t i = 1; i < kept.size(); ++i) result = logical_and(result, kept[i]);
  return result;
}

Expr select_decided(const Expr& expr, const Bounds&) {
  const auto* n = std::get_if<Select>(&expr->node);
  if (n == nullptr) return nullptr;
  if (const auto condition = literal(n->condition)) return *condition != 0 ? n->if_true : n->if_false;
  return structurally_equal(n->if_true, n->if_false) ? n->if_true : nullptr;
}

constexpr Shapes on(BinaryOp op) { return Shapes{1} << static_cast<unsigned>(op); }
constexpr Shapes kBinary = (Shapes{1} << (static_cast<unsigned>(BinaryOp::logical_or) + 1)) - 1;
constexpr Shapes kNeg = kBinary + 1, kNot = kNeg << 1, kOtherUnary = kNot << 1, kCast = kOtherUnary << 1,
                 kSelect = kCast << 1, kVar = kSelect << 1;
constexpr Shapes kUnary = kNeg | kNot | kOtherUnary;
constexpr Shapes kSum = on(BinaryOp::add) | on(BinaryOp::sub) | on(BinaryOp::mul) | kNeg;
constexpr Shapes kDiv = on(BinaryOp::floor_div), kMod = on(BinaryOp::floor_mod);
constexpr Shapes kCompare =
    on(BinaryOp::eq) | on(BinaryOp::ne) | on(BinaryOp::lt) | on(BinaryOp::le) | on(BinaryOp::gt) | on(BinaryOp::ge);
constexpr Shapes kMinMax = on(BinaryOp::min) | on(BinaryOp::max);

// clang-format off
constexpr std::array<SimplifyRule, 23> kRules{{
    {"fold_constants", "an operation on literals is its value", kBinary | kUnary | kCast, fold_constants},
    {"single_value", "an expression whose range is one value is that value; comparisons are decided this way", kBinary | kUnary | kCast | kSelect | kVar, single_value},
    {"neutral_operand", "x+0, x*1, x*0, x//1, x%1, true && x, ...", kBinary, neutral_operand},
    {"same_operands", "min(x, x) = x, x ^ x = 0, x <= x is true, ...", kBinary, same_operands},
    {"double_negation", "!!x = x", kNot, double_negation},
    {"select_decided", "select(true, a, b) = a; select(c, a, a) = a", kSelect, select_decided},
    {"collect_terms", "sums are constant + sum(coefficient * atom)", kSum, collect_terms},
    {"join_div_mod", "(x//k)*k + x%k = x; (x//k%m)*k + x%k = x % (k*m); x - (x//k)*k = x%k", kSum, join_div_mod},
    {"truncating_to_floor", "x/k = x//k and mod(x, k) = x%k for x >= 0, k > 0", on(BinaryOp::div) | on(BinaryOp::mod), truncating_to_floor},
    {"div_of_div", "(x//a)//b = x//(a*b) for a, b > 0", kDiv, div_of_div},
    {"mod_of_mod", "(x%(a*b))%b = x%b", kMod, mod_of_mod},
    {"div_of_mod", "(x%(a*b))//b = (x//b)%a", kDiv, div_of_mod},
    {"mod_in_range", "x%k = x - q*k for q*k <= x < (q+1)*k", kMod, mod_in_range},
    {"div_of_multiples", "(k*a + r)//k = a + r//k", kDiv, div_of_multiples},
    {"mod_of_multiples", "(k*a + r)%k = r%k", kMod, mod_of_multiples},
    {"div_by_common_factor", "(g*a + r)//(g*m) = a//m for 0 <= r < g", kDiv, div_by_common_factor},
    {"mod_by_common_factor", "(g*a + r)%(g*m) = g*(a%m) + r for 0 <= r < g", kMod, mod_by_common_factor},
    {"nested_min_max", "min(min(x, 5), 3) = min(x, 3)", kMinMax, nested_min_max},
    {"min_max_decided", "min(a, b) = a where a <= b is proven", kMinMax, min_max_decided},
    {"compare_quotient", "x//k < c where x < c*k", kCompare, compare_quotient},
    {"compare_by_common_factor", "g*a + r < g*c where a < c for 0 <= r < g; g*a = c is false where g does not divide c", kCompare, compare_by_common_factor},
    {"collect_comparison", "positive terms left, negative ones and the constant right", kCompare, collect_comparison},
    {"implied_conjunct", "x < 3 && x < 5 = x < 3", on(BinaryOp::logical_and), implied_conjunct},
}};
// clang-format on

}  // namespace

std::span<const SimplifyRule> simplify_rules() { return kRules; }

bool is_collected(const Expr& sum) {
  constexpr std::size_t kMost = 8;
  std::array<const Expr*, kMost> atoms;
  std::size_t count = 0;
  // The term is neither a separate sum nor part of another term's sum.
  const auto is_new_term = [&](const Expr& term) {
    const auto* product = std::get_if<Binary>(&term->node);
    const bool scaled = product != nullptr && product->op == BinaryOp::mul;
    const auto* factor = scaled ? std::get_if<IntImm>(&product->b->node) : nullptr;
    if (scaled && (factor == nullptr || factor->value < 2)) return false;
    const Expr& atom = scaled ? product->a : term;
    if (is_linear_op(atom) || std::holds_alternative<IntImm>(atom->node) || count == kMost) return false;
    for (std::size_t i = 0; i < count; ++i)
      if (structurally_equal(*atoms[i], atom)) return false;
    atoms[count++] = &atom;
    return true;
  };
  // From the last term to the first.
  const Expr* at = &sum;
  bool positive = false;
  for (const Binary* n = std::get_if<Binary>(&sum->node);
       n != nullptr && (n->op == BinaryOp::add || n->op == BinaryOp::sub); n = std::get_if<Binary>(&(*at)->node)) {
    if (const auto* constant = std::get_if<IntImm>(&n->b->node)) {
      if (at != &sum || constant->value < 1) return false;
    } else {
      if ((positive && n->op == BinaryOp::sub) || !is_new_term(n->b)) return false;
      positive |= n->op == BinaryOp::add;
    }
    at = &n->a;
  }
  return is_new_term(*at);
}

Shapes shape_of(const Expr& expr) {
  if (const auto* n = std::get_if<Binary>(&expr->node)) return on(n->op);
  if (const auto* n = std::get_if<Unary>(&expr->node))
    return n->op == UnaryOp::neg ? kNeg : n->op == UnaryOp::logical_not ? kNot : kOtherUnary;
  if (std::holds_alternative<VarRef>(expr->node)) return kVar;
  if (std::holds_alternative<Select>(expr->node)) return kSelect;
  if (std::holds_alternative<Cast>(expr->node)) return kCast;
  return 0;  // literals, loads, bitcasts and calls stay as they are
}

}  // namespace dovetail::loops
