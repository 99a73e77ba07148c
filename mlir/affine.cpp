#include "mlir/affine.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

constexpr int kMostAffineNodes = 200;

class AffineBuilder {
 public:
  AffineBuilder(AffineOperands& operands, const IsAffineVar& is_var) : operands_(operands), is_var_(is_var) {}

  std::optional<AffineExpr> build(const Expr& expr) {
    if (expr->dtype != DType::int64 || ++nodes_ > kMostAffineNodes) return std::nullopt;
    if (const auto* n = std::get_if<IntImm>(&expr->node)) return affine_constant(n->value);
    if (const auto* n = std::get_if<VarRef>(&expr->node))
      return is_var_(n->var) ? std::optional(affine_operand(operands_.position(n->var))) : std::nullopt;
    if (const auto* n = std::get_if<Unary>(&expr->node))
      return n->op == UnaryOp::neg ? product(n->a, -1) : std::nullopt;
    const auto* n = std::get_if<Binary>(&expr->node);
    if (n == nullptr) return std::nullopt;
    switch (n->op) {
      case BinaryOp::add: return combined(AffineKind::add, build(n->a), build(n->b));
      case BinaryOp::sub: return combined(AffineKind::add, build(n->a), product(n->b, -1));
      case BinaryOp::mul:
        if (const auto* factor = std::get_if<IntImm>(&n->b->node)) return product(n->a, factor->value);
        if (const auto* factor = std::get_if<IntImm>(&n->a->node)) return product(n->b, factor->value);
        return std::nullopt;
      case BinaryOp::floor_div: return divided(AffineKind::floor_div, *n);
      case BinaryOp::floor_mod: return divided(AffineKind::mod, *n);
      default: return std::nullopt;
    }
  }

 private:
  static std::optional<AffineExpr> combined(AffineKind kind, std::optional<AffineExpr> a, std::optional<AffineExpr> b) {
    if (!a || !b) return std::nullopt;
    return affine_binary(kind, *std::move(a), *std::move(b));
  }
  std::optional<AffineExpr> product(const Expr& expr, std::int64_t factor) {
    return combined(AffineKind::mul, build(expr), affine_constant(factor));
  }
  std::optional<AffineExpr> divided(AffineKind kind, const Binary& n) {
    const auto* divisor = std::get_if<IntImm>(&n.b->node);
    if (divisor == nullptr || divisor->value <= 0) return std::nullopt;
    return combined(kind, build(n.a), affine_constant(divisor->value));
  }

  AffineOperands& operands_;
  const IsAffineVar& is_var_;
  int nodes_ = 0;
};

bool is_affine_constant(const AffineExpr& expr, std::int64_t value) {
  return expr->kind == AffineKind::constant && expr->value == value;
}

// Precedence of sums: 0, of products: 1, of operands: 2.
std::string affine_text(const AffineExpr& expr, std::span<const std::string> operands, int context) {
  const auto parenthesized = [&](std::string text, int level) { return context > level ? "(" + text + ")" : text; };
  const auto operation = [&](std::string_view symbol) {
    return parenthesized(
        fmt::format("{} {} {}", affine_text(expr->lhs, operands, 1), symbol, affine_text(expr->rhs, operands, 2)), 1);
  };
  switch (expr->kind) {
    case AffineKind::constant: return std::to_string(expr->value);
    case AffineKind::operand: return operands[static_cast<std::size_t>(expr->value)];
    case AffineKind::add: {
      const AffineExpr& rhs = expr->rhs;
      const bool subtracts_constant =
          rhs->kind == AffineKind::constant && rhs->value < 0 && rhs->value != std::numeric_limits<std::int64_t>::min();
      const bool subtracts = rhs->kind == AffineKind::mul && is_affine_constant(rhs->rhs, -1);
      const std::string right =
          subtracts_constant ? std::to_string(-rhs->value) : affine_text(subtracts ? rhs->lhs : rhs, operands, 1);
      return parenthesized(fmt::format("{} {} {}", affine_text(expr->lhs, operands, 0),
                                       subtracts || subtracts_constant ? '-' : '+', right),
                           0);
    }
    case AffineKind::mul: return operation("*");
    case AffineKind::mod: return operation("mod");
    case AffineKind::floor_div: return operation("floordiv");
    case AffineKind::ceil_div: return operation("ceildiv");
  }
  return "";
}

// var, var * c, var // c, var % c with c >= 2.
bool is_plain_term(const Expr& expr, std::set<const VarNode*>& used) {
  const Expr* var = &expr;
  if (const auto* n = std::get_if<Binary>(&expr->node)) {
    const auto* factor = std::get_if<IntImm>(&n->b->node);
    if ((n->op != BinaryOp::mul && n->op != BinaryOp::floor_div && n->op != BinaryOp::floor_mod) || factor == nullptr ||
        factor->value < 2)
      return false;
    var = &n->a;
  }
  const auto* n = std::get_if<VarRef>(&(*var)->node);
  return n != nullptr && used.insert(n->var.get()).second;
}

bool is_plain_sum(const Expr& expr, std::set<const VarNode*>& used) {
  if (is_plain_term(expr, used)) return true;
  const auto* n = std::get_if<Binary>(&expr->node);
  return n != nullptr && (n->op == BinaryOp::add || n->op == BinaryOp::sub) && is_plain_sum(n->a, used) &&
         is_plain_term(n->b, used);
}

void add_terms(const Expr& condition, std::vector<Expr>& terms) {
  const auto* n = std::get_if<Binary>(&condition->node);
  if (n == nullptr || n->op != BinaryOp::logical_and) return terms.push_back(condition);
  add_terms(n->a, terms);
  add_terms(n->b, terms);
}

// Linear forms of the differences that the conjunction compares with 0; nullopt: another condition.
std::optional<std::vector<std::pair<Linear, bool>>> comparisons(const Expr& condition) {
  std::vector<Expr> terms;
  add_terms(condition, terms);
  std::vector<std::pair<Linear, bool>> result;
  for (const Expr& term : terms) {
    const auto* n = std::get_if<Binary>(&term->node);
    if (n == nullptr || n->a->dtype != DType::int64) return std::nullopt;
    const bool less = n->op == BinaryOp::lt || n->op == BinaryOp::le;
    if (!less && n->op != BinaryOp::gt && n->op != BinaryOp::ge && n->op != BinaryOp::eq) return std::nullopt;
    Linear form = linear_form(simplify(less ? n->b - n->a : n->a - n->b));
    if (n->op == BinaryOp::lt || n->op == BinaryOp::gt) form.constant -= 1;
    result.emplace_back(std::move(form), n->op == BinaryOp::eq);
  }
  return result;
}

bool equal_forms(const Linear& a, const Linear& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  return std::ranges::all_of(a.terms, [&](const LinearTerm& term) {
    return std::ranges::any_of(b.terms, [&](const LinearTerm& other) {
      return term.coefficient == other.coefficient && structurally_equal(term.atom, other.atom);
    });
  });
}

}  // namespace

AffineExpr affine_constant(std::int64_t value) {
  return std::make_shared<const AffineNode>(AffineNode{AffineKind::constant, value, nullptr, nullptr});
}
AffineExpr affine_operand(std::size_t position) {
  return std::make_shared<const AffineNode>(
      AffineNode{AffineKind::operand, static_cast<std::int64_t>(position), nullptr, nullptr});
}
AffineExpr affine_binary(AffineKind kind, AffineExpr lhs, AffineExpr rhs) {
  return std::make_shared<const AffineNode>(AffineNode{kind, 0, std::move(lhs), std::move(rhs)});
}

std::size_t AffineOperands::position(const Var& var) {
  const auto found = std::ranges::find(vars, var);
  if (found != vars.end()) return static_cast<std::size_t>(found - vars.begin());
  vars.push_back(var);
  return vars.size() - 1;
}

std::optional<AffineExpr> to_affine(const Expr& expr, AffineOperands& operands, const IsAffineVar& is_var) {
  return AffineBuilder(operands, is_var).build(expr);
}

std::optional<std::vector<AffineConstraint>> to_constraints(const Expr& condition, AffineOperands& operands,
                                                            const IsAffineVar& is_var) {
  std::vector<Expr> terms;
  add_terms(condition, terms);
  std::vector<AffineConstraint> result;
  for (const Expr& term : terms) {
    const auto* n = std::get_if<Binary>(&term->node);
    if (n == nullptr || n->a->dtype != DType::int64) return std::nullopt;
    auto a = to_affine(n->a, operands, is_var), b = to_affine(n->b, operands, is_var);
    if (!a || !b) return std::nullopt;
    if (n->op == BinaryOp::lt || n->op == BinaryOp::le) std::swap(a, b);
    else if (n->op != BinaryOp::gt && n->op != BinaryOp::ge && n->op != BinaryOp::eq) return std::nullopt;
    AffineExpr difference = *a;
    if (!is_affine_constant(*b, 0))
      difference =
          affine_binary(AffineKind::add, difference,
                        (*b)->kind == AffineKind::constant && (*b)->value != std::numeric_limits<std::int64_t>::min()
                            ? affine_constant(-(*b)->value)
                            : affine_binary(AffineKind::mul, *b, affine_constant(-1)));
    if (n->op == BinaryOp::lt || n->op == BinaryOp::gt)
      difference = affine_binary(AffineKind::add, difference, affine_constant(-1));
    result.push_back({difference, n->op == BinaryOp::eq});
  }
  return result;
}

std::string to_text(const AffineExpr& expr, std::span<const std::string> operands) {
  return affine_text(expr, operands, 0);
}

Expr to_loops(const AffineExpr& expr, std::span<const Expr> operands) {
  const auto side = [&](const AffineExpr& child) { return to_loops(child, operands); };
  const AffineExpr& rhs = expr->rhs;
  switch (expr->kind) {
    case AffineKind::constant: return int_imm(expr->value);
    case AffineKind::operand: return operands[static_cast<std::size_t>(expr->value)];
    case AffineKind::add:
      if (rhs->kind == AffineKind::constant && rhs->value < 0 && rhs->value != std::numeric_limits<std::int64_t>::min())
        return side(expr->lhs) - (-rhs->value);
      if (rhs->kind == AffineKind::mul && is_affine_constant(rhs->rhs, -1)) return side(expr->lhs) - side(rhs->lhs);
      return side(expr->lhs) + side(rhs);
    case AffineKind::mul: return side(expr->lhs) * side(rhs);
    case AffineKind::mod: return binary(BinaryOp::floor_mod, side(expr->lhs), side(rhs));
    case AffineKind::floor_div: return binary(BinaryOp::floor_div, side(expr->lhs), side(rhs));
    case AffineKind::ceil_div:  // -(-a // b)
      return int_imm(0) - binary(BinaryOp::floor_div, int_imm(0) - side(expr->lhs), side(rhs));
  }
  throw InternalError("to_loops: an affine expression of an unknown kind");
}

Expr to_loops(const AffineSet& set, std::span<const Expr> operands) {
  Expr result;
  for (const AffineConstraint& constraint : set.constraints) {
    const Expr term =
        binary(constraint.equal ? BinaryOp::eq : BinaryOp::ge, to_loops(constraint.expr, operands), int_imm(0));
    result = result ? logical_and(result, term) : term;
  }
  return result ? result : bool_imm(true);
}

bool keeps_form(const Expr& expr) {
  std::set<const VarNode*> used;
  if (std::holds_alternative<IntImm>(expr->node) || is_plain_sum(expr, used)) return true;
  const auto* n = std::get_if<Binary>(&expr->node);
  if (n == nullptr || (n->op != BinaryOp::add && n->op != BinaryOp::sub)) return false;
  const auto* constant = std::get_if<IntImm>(&n->b->node);
  used.clear();
  return constant != nullptr && constant->value > 0 && is_plain_sum(n->a, used);
}

bool same_value(const Expr& a, const Expr& b) {
  if (structurally_equal(a, b)) return true;
  if (a->dtype != b->dtype) return false;
  if (a->dtype == DType::int64) return equal_forms(linear_form(simplify(a)), linear_form(simplify(b)));
  if (a->dtype != DType::boolean) return false;
  const auto left = comparisons(a), right = comparisons(b);
  if (!left || !right || left->size() != right->size()) return false;
  for (std::size_t i = 0; i < left->size(); ++i)
    if ((*left)[i].second != (*right)[i].second || !equal_forms((*left)[i].first, (*right)[i].first)) return false;
  return true;
}

}  // namespace dovetail::mlir
