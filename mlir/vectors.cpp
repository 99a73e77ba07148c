// Which vectorized loops are written as operations on vectors: loops over the elements of one row, each of whose
// iterations does the same operations on consecutive elements.
#include <algorithm>

#include "loops/linear.h"
#include "loops/rewrite.h"
#include "mlir/function_writer.h"

namespace dovetail::mlir {

using namespace loops;

namespace {

// Decides for one loop. Variables that move with the lanes: the loop's, and the block's iterators that are bound to it.
class SimpleVector {
 public:
  SimpleVector(const For& loop, const Block& block) : loop_(loop), block_(block) { moving_[loop.var.get()] = 1; }

  bool holds(const IsAffineVar& is_affine) {
    AffineOperands operands;
    std::vector<Var> known{loop_.var};
    const IsAffineVar is_known = [&](const Var& var) {
      return is_affine(var) || std::ranges::find(known, var) != known.end();
    };
    for (const Iterator& iterator : block_.iterators) {
      if (iterator.var->dtype != DType::int64 || !to_affine(iterator.binding, operands, is_known)) return false;
      const auto step = step_of(iterator.binding);
      if (!step || (*step != 0 && iterator.kind != IterKind::spatial)) return false;
      if (*step != 0) moving_[iterator.var.get()] = *step;
    }
    for (const Iterator& iterator : block_.iterators) known.push_back(iterator.var);
    is_affine_ = is_known;
    if (block_.predicate && (!to_constraints(block_.predicate, operands, is_known) || mentions(block_.predicate)))
      return false;
    return (!block_.init || takes(block_.init)) && takes(block_.body);
  }

 private:
  bool mentions(const Expr& expr) const {
    bool found = false;
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<VarRef>(&e->node)) found |= moving_.contains(n->var.get());
    });
    return found;
  }

  // By how much the value grows from lane to lane; nullopt: not by a constant.
  std::optional<std::int64_t> step_of(const Expr& expr) const {
    if (!mentions(expr)) return 0;
    if (expr->dtype != DType::int64) return std::nullopt;
    std::int64_t step = 0;
    for (const LinearTerm& term : linear_form(expr).terms) {
      if (!mentions(term.atom)) continue;
      const auto* n = std::get_if<VarRef>(&term.atom->node);
      if (n == nullptr) return std::nullopt;
      step += term.coefficient * moving_.at(n->var.get());
    }
    return step;
  }

  // All dimensions are affine; the last one moves by one element, and the others do not, or none does.
  bool takes(const Buffer& buffer, const std::vector<Expr>& indices, bool must_move) const {
    if (indices.empty() || size_bytes(buffer->dtype) < 4) return false;
    AffineOperands operands;
    for (std::size_t dim = 0; dim < indices.size(); ++dim) {
      const auto step = step_of(indices[dim]);
      const bool last = dim + 1 == indices.size();
      if (!to_affine(indices[dim], operands, is_affine_) || !step || (*step != 0 && !last)) return false;
      if (last && *step != 1 && (must_move || *step != 0)) return false;
    }
    return true;
  }

  bool takes(const Stmt& stmt) const {
    const auto* store = std::get_if<Store>(&stmt->node);
    if (store == nullptr || store->targets.size() != 1) return false;
    const StoreTarget& target = store->targets.front();
    if (!takes(target.buffer, target.indices, true)) return false;
    return takes(target.value, target);
  }

  bool takes(const Expr& expr, const StoreTarget& target) const {
    if (size_bytes(expr->dtype) < 4 && expr->dtype != DType::boolean) return false;
    if (std::holds_alternative<IntImm>(expr->node) || std::holds_alternative<FloatImm>(expr->node)) return true;
    if (const auto* n = std::get_if<VarRef>(&expr->node)) return !moving_.contains(n->var.get());
    if (const auto* n = std::get_if<LoadExpr>(&expr->node)) {
      const bool same = n->buffer != target.buffer ||
                        std::ranges::equal(n->indices, target.indices,
                                           [](const Expr& a, const Expr& b) { return structurally_equal(a, b); });
      return same && takes(n->buffer, n->indices, false);
    }
    if (const auto* n = std::get_if<Select>(&expr->node))
      return !has_load(n->if_true) && !has_load(n->if_false) && takes(n->condition, target) &&
             takes(n->if_true, target) && takes(n->if_false, target);
    if (const auto* n = std::get_if<Unary>(&expr->node))
      return takes(n->a, target) &&
             (n->op == UnaryOp::neg || n->op == UnaryOp::sqrt || (n->op == UnaryOp::abs && is_floating(expr->dtype)));
    const auto* n = std::get_if<Binary>(&expr->node);
    return n != nullptr && is_element_operation(n->op, n->a->dtype) && takes(n->a, target) && takes(n->b, target);
  }

  static bool is_element_operation(BinaryOp op, DType operand) {
    switch (op) {
      case BinaryOp::add:
      case BinaryOp::sub:
      case BinaryOp::mul:
      case BinaryOp::min:
      case BinaryOp::max:
      case BinaryOp::eq:
      case BinaryOp::ne:
      case BinaryOp::lt:
      case BinaryOp::le:
      case BinaryOp::gt:
      case BinaryOp::ge: return true;
      case BinaryOp::div: return is_floating(operand);
      default: return false;
    }
  }

  static bool has_load(const Expr& expr) {
    bool found = false;
    visit_exprs(expr, [&](const Expr& e) { found |= std::holds_alternative<LoadExpr>(e->node); });
    return found;
  }

  const For& loop_;
  const Block& block_;
  std::map<const VarNode*, std::int64_t> moving_;  // and the steps from lane to lane
  IsAffineVar is_affine_;
};

}  // namespace

bool FunctionWriter::moves(const Expr& expr) const {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<VarRef>(&e->node)) found |= lane_vars_.contains(n->var.get());
  });
  return found;
}

bool FunctionWriter::is_simple_vector(const For& n) const {
  if (!uses_affine() || n.kind != ForKind::vectorized || n.extent < 2 || n.var->dtype != DType::int64 || !n.body)
    return false;
  const auto* block = std::get_if<Block>(&n.body->node);
  return block != nullptr && block->body && SimpleVector(n, *block).holds(affine_vars());
}

}  // namespace dovetail::mlir
