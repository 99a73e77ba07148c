#include "loops/combine.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "loops/integer.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

bool is_joining(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::mul || op == BinaryOp::min || op == BinaryOp::max;
}

bool holds_any(const Expr& expr, const std::vector<Expr>& terms) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    found |= std::ranges::any_of(terms, [&](const Expr& one) { return structurally_equal(e, one); });
  });
  return found;
}

// `expr` with a variable in place of each expression in `known`, outermost first.
Expr abstracted(const Expr& expr, const std::vector<Expr>& known, const std::vector<Expr>& variables) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (structurally_equal(expr, known[i])) return variables[i];
  return map_children(expr, [&](const Expr& child) { return abstracted(child, known, variables); });
}

// True if the expression depends on nothing but `variables`.
bool is_closed(const Expr& expr, const std::vector<Expr>& variables) {
  bool closed = true;
  visit_exprs(expr, [&](const Expr& e) {
    if (std::holds_alternative<LoadExpr>(e->node)) closed = false;
    if (std::holds_alternative<VarRef>(e->node))
      closed &= std::ranges::any_of(variables, [&](const Expr& one) { return structurally_equal(e, one); });
  });
  return closed;
}

}  // namespace

std::vector<Expr> Combine::join(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
  VarMap vars;
  for (std::size_t i = 0; i < own.size(); ++i) {
    vars[own[i].get()] = a.at(i);
    vars[other[i].get()] = b.at(i);
  }
  std::vector<Expr> joined;
  for (const Expr& expr : form) joined.push_back(substitute(expr, vars));
  return joined;
}

std::optional<Combine> combine_of(const std::vector<StoreTarget>& targets) {
  Combine result;
  std::vector<Expr> known, variables;
  for (const StoreTarget& target : targets) {
    known.push_back(load(target.buffer, target.indices));
    result.own.push_back(make_var("a", target.buffer->dtype));
    variables.push_back(ref(result.own.back()));
  }
  const std::vector<Expr> loads = known;
  Expr condition;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto* operation = std::get_if<Binary>(&targets[i].value->node);
    const auto* choice = std::get_if<Select>(&targets[i].value->node);
    Expr a, b;
    if (operation != nullptr && is_joining(operation->op)) {
      result.operations.emplace_back(operation->op);
      a = operation->a, b = operation->b;
    } else if (choice != nullptr && (i == 0 || (condition && structurally_equal(condition, choice->condition)))) {
      result.operations.emplace_back(std::nullopt);
      condition = choice->condition;
      a = choice->if_true, b = choice->if_false;
    } else {
      return std::nullopt;
    }
    const bool first = structurally_equal(a, loads[i]);
    if (first == structurally_equal(b, loads[i])) return std::nullopt;
    result.values.push_back(first ? b : a);
    if (holds_any(result.values.back(), loads)) return std::nullopt;
    known.push_back(result.values.back());
    result.other.push_back(make_var("b", targets[i].buffer->dtype));
    variables.push_back(ref(result.other.back()));
  }
  if (!std::ranges::all_of(result.operations, [&](const auto& op) { return op.has_value() != result.selects(); }))
    return std::nullopt;
  for (const StoreTarget& target : targets) {
    result.form.push_back(abstracted(target.value, known, variables));
    if (!is_closed(result.form.back(), variables)) return std::nullopt;
  }
  return result;
}

Expr identity_of(BinaryOp op, DType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case BinaryOp::add: return constant(0, dtype);
    case BinaryOp::mul: return constant(1, dtype);
    case BinaryOp::min:
      if (is_floating(dtype)) return float_imm(infinity, dtype);
      return int_imm(dtype == DType::uint64 ? -1 : type_max(dtype), dtype);
    case BinaryOp::max:
      if (is_floating(dtype)) return float_imm(-infinity, dtype);
      return int_imm(is_signed_integer(dtype) ? type_min(dtype) : 0, dtype);
    default: break;
  }
  DOVETAIL_CHECK(false, "the operation must join partial results");
  return nullptr;
}

bool starts_anywhere(const Combine& combine, std::size_t target, const Expr& start) {
  const auto op = combine.operations.at(target);
  if (!op || *op == BinaryOp::min || *op == BinaryOp::max)
    return std::holds_alternative<IntImm>(start->node) || std::holds_alternative<FloatImm>(start->node);
  const double identity = *op == BinaryOp::add ? 0 : 1;
  if (const auto* n = std::get_if<IntImm>(&start->node)) return static_cast<double>(n->value) == identity;
  const auto* n = std::get_if<FloatImm>(&start->node);
  return n != nullptr && n->value == identity;
}

}  // namespace dovetail::loops
