#include "loops/run_time_checks.h"

#include "loops/rewrite.h"

namespace dovetail::loops {

bool holds_load(const Expr& expr) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) { found |= std::holds_alternative<LoadExpr>(e->node); });
  return found;
}

bool may_divide_by_zero(const Binary& operation) {
  if (!is_integer(operation.a->dtype)) return false;
  const auto* divisor = std::get_if<IntImm>(&operation.b->node);
  switch (operation.op) {
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::floor_div:
    case BinaryOp::floor_mod: return divisor == nullptr || divisor->value == 0;
    case BinaryOp::pow: return divisor == nullptr || divisor->value < 0;
    default: return false;
  }
}

}  // namespace dovetail::loops
