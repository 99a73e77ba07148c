#include "loops/free_vars.h"

#include <algorithm>
#include <set>

#include "loops/rewrite.h"

namespace dovetail::loops {

// A variable is bound by only one loop or iterator of the program, so a variable bound anywhere is not free.
std::vector<Var> free_vars(const Stmt& stmt) {
  std::set<const VarNode*> bound;
  visit_stmts(stmt, [&](const Stmt& s) {
    if (const auto* loop = std::get_if<For>(&s->node)) bound.insert(loop->var.get());
    if (const auto* block = std::get_if<Block>(&s->node))
      for (const Iterator& iterator : block->iterators) bound.insert(iterator.var.get());
  });
  std::vector<Var> result;
  visit_exprs(stmt, [&](const Expr& e) {
    if (const auto* n = std::get_if<VarRef>(&e->node); n != nullptr && bound.insert(n->var.get()).second)
      result.push_back(n->var);
  });
  return result;
}

}  // namespace dovetail::loops
