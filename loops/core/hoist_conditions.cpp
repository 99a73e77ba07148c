#include "loops/core/hoist_conditions.h"

#include <utility>
#include <vector>

#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

bool depends_on(const Expr& condition, const std::set<const VarNode*>& vars) {
  bool found = false;
  visit_exprs(condition, [&](const Expr& e) {
    const auto* n = std::get_if<VarRef>(&e->node);
    found |= (n != nullptr && vars.contains(n->var.get())) || std::holds_alternative<LoadExpr>(e->node);
  });
  return found;
}

Core hoisted(const Core& core);

Core hoisted(const CoreLoop& n) {
  CoreLoop loop = n;
  loop.body = hoisted(n.body);
  if (!loop.body) return nullptr;
  const auto* condition = std::get_if<CoreIf>(&loop.body->node);
  const bool moves = n.kind == ForKind::serial || n.kind == ForKind::vectorized || n.kind == ForKind::unrolled;
  if (!moves || condition == nullptr || condition->else_body) return make_core(std::move(loop));
  const PartedCondition parted = part_condition(condition->condition, {n.var.get()});
  if (!parted.outer) return make_core(std::move(loop));
  loop.body = core_if(parted.inner, condition->then_body);
  return core_if(parted.outer, make_core(std::move(loop)));
}

Core hoisted(const Core& core) {
  if (!core) return core;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return hoisted(*loop);
  if (const auto* condition = std::get_if<CoreIf>(&core->node))
    return core_if(condition->condition, hoisted(condition->then_body), hoisted(condition->else_body));
  const auto* sequence = std::get_if<CoreSequence>(&core->node);
  if (sequence == nullptr) return core;
  std::vector<Core> body;
  for (const Core& inner : sequence->body) body.push_back(hoisted(inner));
  return core_sequence(std::move(body));
}

}  // namespace

PartedCondition part_condition(const Expr& condition, const std::set<const VarNode*>& vars) {
  const auto* n = std::get_if<Binary>(&condition->node);
  if (n == nullptr || n->op != BinaryOp::logical_and)
    return depends_on(condition, vars) ? PartedCondition{condition, nullptr} : PartedCondition{nullptr, condition};
  const auto both = [](const Expr& a, const Expr& b) { return !a ? b : !b ? a : logical_and(a, b); };
  const PartedCondition a = part_condition(n->a, vars), b = part_condition(n->b, vars);
  return {both(a.inner, b.inner), both(a.outer, b.outer)};
}

CoreProgram hoist_conditions(CoreProgram program) {
  program.body = hoisted(program.body);
  return program;
}

}  // namespace dovetail::loops
