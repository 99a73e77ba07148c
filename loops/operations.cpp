#include "loops/operations.h"

#include "loops/rewrite.h"
#include "loops/sharing.h"

namespace dovetail::loops {

namespace {

// Of one evaluation of expressions, each node counted at every place that holds it.
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
        total.floating += inner.floating;
        total.integer += inner.integer;
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

}  // namespace

Operations count_operations(const Program& program) {
  Operations total;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return;
    std::uint64_t points = 1;
    Operations each;
    bool reduces = false;
    for (const Iterator& iterator : block->iterators) {
      points *= static_cast<std::uint64_t>(iterator.extent);
      reduces = reduces || iterator.kind == IterKind::reduce;
    }
    visit_stmts(block->body, [&](const Stmt& inner) {
      if (const auto* store = std::get_if<Store>(&inner->node))
        for (const StoreTarget& target : store->targets) {
          const Operations of_value = Counter().count(target.value);
          each.floating += of_value.floating;
          each.integer += of_value.integer;
          if (reduces && adds_product(target.value)) ++each.macs;
        }
    });
    total.floating += points * each.floating;
    total.integer += points * each.integer;
    total.macs += points * each.macs;
  });
  return total;
}

}  // namespace dovetail::loops
