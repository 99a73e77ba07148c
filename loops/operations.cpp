#include "loops/operations.h"

#include <algorithm>
#include <variant>

#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/sharing.h"

namespace dovetail::loops {

namespace {

// Counts for one evaluation of expressions, each node counted at every use.
class Counter {
 public:
  Operations count(const Expr& expr) {
    return counts_.of(expr, [&](const Expr& e) {
      Operations total;
      if (const auto* n = std::get_if<Binary>(&e->node);
          n && n->op <= BinaryOp::max && e->dtype != DType::int64 && e->dtype != DType::boolean)
        ++(is_floating(e->dtype) ? total.floating : total.integer);
      if (const auto* n = std::get_if<Unary>(&e->node); n && n->op >= UnaryOp::sqrt && n->op <= UnaryOp::erf)
        ++total.floating;
      each_operand(e, [&](const Expr& operand) {
        const Operations inner = count(operand);
        total.floating = saturating_sum(total.floating, inner.floating);
        total.integer = saturating_sum(total.integer, inner.integer);
      });
      return total;
    });
  }

 private:
  SharedResults<Operations> counts_;
};

// `x + a * b`, in any order.
bool adds_product(const Expr& value) {
  const auto* sum = std::get_if<Binary>(&value->node);
  if (sum == nullptr || sum->op != BinaryOp::add) return false;
  const auto is_product = [](const Expr& operand) {
    const auto* product = std::get_if<Binary>(&operand->node);
    return product != nullptr && product->op == BinaryOp::mul;
  };
  return is_product(sum->a) || is_product(sum->b);
}

// Operations on values of an expression, excluding the indices of its loads.
void add_steps(const Expr& expr, Seen& seen, std::uint64_t& steps) {
  if (std::holds_alternative<LoadExpr>(expr->node) || seen.again(expr)) return;
  if (std::holds_alternative<Unary>(expr->node) || std::holds_alternative<Binary>(expr->node) ||
      std::holds_alternative<Select>(expr->node) || std::holds_alternative<Call>(expr->node))
    ++steps;
  each_operand(expr, [&](const Expr& operand) { add_steps(operand, seen, steps); });
}

std::uint64_t steps_of(const Stmt& stmt);

// Whether everything in the loop is under a condition on data, which may leave out most of its iterations
// (loops/core/trim_loops.h).
bool ends_with_data(const For& loop) {
  const auto of_data = [](const Expr& condition) { return condition && holds_load(condition); };
  if (!loop.body) return false;
  if (const auto* branch = std::get_if<If>(&loop.body->node)) return !branch->else_body && of_data(branch->condition);
  const auto* block = std::get_if<Block>(&loop.body->node);
  if (block == nullptr) return false;
  if (of_data(block->predicate)) return true;
  const auto* store = block->body ? std::get_if<Store>(&block->body->node) : nullptr;
  if (store == nullptr || store->targets.size() != 1) return false;
  const auto* update = std::get_if<Binary>(&store->targets.front().value->node);
  const auto* choice = update == nullptr ? nullptr : std::get_if<Select>(&update->b->node);
  return choice != nullptr && of_data(choice->condition);
}

struct Steps {
  std::uint64_t operator()(const For& loop) const {
    const std::uint64_t times = ends_with_data(loop) ? 1 : static_cast<std::uint64_t>(loop.extent);
    return saturating_product(times, steps_of(loop.body));
  }
  std::uint64_t operator()(const If& branch) const {
    Seen seen;
    std::uint64_t steps = 0;
    add_steps(branch.condition, seen, steps);
    return saturating_sum(steps, saturating_sum(steps_of(branch.then_body), steps_of(branch.else_body)));
  }
  std::uint64_t operator()(const Sequence& sequence) const {
    std::uint64_t steps = 0;
    for (const Stmt& stmt : sequence.body) steps = saturating_sum(steps, steps_of(stmt));
    return steps;
  }
  // The product of the enclosing loops' extents is the number of iterations.
  std::uint64_t operator()(const Block& block) const { return steps_of(block.body); }
  std::uint64_t operator()(const Store& store) const {
    Seen seen;
    std::uint64_t steps = 0;
    for (const StoreTarget& target : store.targets) add_steps(target.value, seen, steps);
    return std::max<std::uint64_t>(1, steps);
  }
  std::uint64_t operator()(const IntrinsicCall&) const { return 1; }
};

std::uint64_t steps_of(const Stmt& stmt) { return stmt ? std::visit(Steps{}, stmt->node) : 0; }

}  // namespace

std::uint64_t count_steps(const Program& program) { return steps_of(program.body); }

Operations count_operations(const Program& program) {
  Operations total;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return;
    std::uint64_t points = 1;
    Operations each;
    bool reduces = false;
    for (const Iterator& iterator : block->iterators) {
      points = saturating_product(points, static_cast<std::uint64_t>(iterator.extent));
      reduces = reduces || iterator.kind == IterKind::reduce;
    }
    visit_stmts(block->body, [&](const Stmt& inner) {
      if (const auto* store = std::get_if<Store>(&inner->node))
        for (const StoreTarget& target : store->targets) {
          const Operations of_value = Counter().count(target.value);
          each.floating = saturating_sum(each.floating, of_value.floating);
          each.integer = saturating_sum(each.integer, of_value.integer);
          if (reduces && adds_product(target.value)) ++each.macs;
        }
    });
    total.floating = saturating_sum(total.floating, saturating_product(points, each.floating));
    total.integer = saturating_sum(total.integer, saturating_product(points, each.integer));
    total.macs = saturating_sum(total.macs, saturating_product(points, each.macs));
  });
  return total;
}

bool calls_mathematics(const Program& program) {
  bool found = false;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* store = std::get_if<Store>(&stmt->node);
    if (store == nullptr) return;
    for (const StoreTarget& target : store->targets)
      visit_exprs(target.value, [&](const Expr& e) {
        if (const auto* unary = std::get_if<Unary>(&e->node))
          found = found || (unary->op >= UnaryOp::exp && unary->op <= UnaryOp::erf);
        if (const auto* binary = std::get_if<Binary>(&e->node))
          found = found || (binary->op == BinaryOp::pow && is_floating(e->dtype));
      });
  });
  return found;
}

bool reduces_floats(const Program& program) {
  bool found = false;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr || std::ranges::none_of(block->iterators, [](const Iterator& iterator) {
          return iterator.kind == IterKind::reduce;
        }))
      return;
    visit_stmts(block->body, [&](const Stmt& inner) {
      if (const auto* store = std::get_if<Store>(&inner->node))
        for (const StoreTarget& target : store->targets) found = found || is_floating(target.value->dtype);
    });
  });
  return found;
}

}  // namespace dovetail::loops
