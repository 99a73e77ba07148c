#include "loops/operations.h"

#include "loops/rewrite.h"

namespace dovetail::loops {

Operations count_operations(const Program& program) {
  Operations total;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr) return;
    std::uint64_t points = 1;
    Operations each;
    for (const Iterator& iterator : block->iterators) points *= static_cast<std::uint64_t>(iterator.extent);
    visit_stmts(block->body, [&](const Stmt& inner) {
      if (const auto* store = std::get_if<Store>(&inner->node))
        for (const StoreTarget& target : store->targets)
          visit_exprs(target.value, [&](const Expr& e) {
            if (const auto* n = std::get_if<Binary>(&e->node);
                n && n->op <= BinaryOp::max && e->dtype != DType::int64 && e->dtype != DType::boolean)
              ++(is_floating(e->dtype) ? each.floating : each.integer);
            if (const auto* n = std::get_if<Unary>(&e->node); n && n->op >= UnaryOp::sqrt && n->op <= UnaryOp::erf)
              ++each.floating;
          });
    });
    total.floating += points * each.floating;
    total.integer += points * each.integer;
  });
  return total;
}

}  // namespace dovetail::loops
