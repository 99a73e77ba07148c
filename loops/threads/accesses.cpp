#include "loops/threads/accesses.h"

#include <algorithm>

#include "loops/linear.h"
#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

void each_load(const Expr& expr, const VisitAccess& visit) {
  if (!expr) return;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node)) visit(n->buffer, n->indices, false);
  });
}

const AroundThread* coordinate(const Expr& atom, const std::vector<AroundThread>& around) {
  const auto* n = std::get_if<VarRef>(&atom->node);
  const auto found =
      std::ranges::find_if(around, [&](const AroundThread& a) { return n != nullptr && a.var == n->var.get(); });
  return found == around.end() ? nullptr : &*found;
}

bool mentions_coordinate(const Expr& expr, const std::vector<AroundThread>& around) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) { found |= coordinate(e, around) != nullptr; });
  return found;
}

}  // namespace

void each_access(const Core& core, const VisitAccess& visit) {
  if (!core) return;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    each_access(loop->body, visit);
  } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
    each_load(condition->condition, visit);
    each_access(condition->then_body, visit);
    each_access(condition->else_body, visit);
  } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) each_access(part, visit);
  } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
    for (const StoreTarget& target : store->targets) {
      for (const Expr& index : target.indices) each_load(index, visit);
      each_load(target.value, visit);
      visit(target.buffer, target.indices, true);
    }
  } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
    for (std::size_t i = 0; i < call->operands.size(); ++i) {
      for (const Expr& index : call->operands[i].indices) each_load(index, visit);
      visit(call->operands[i].buffer, call->operands[i].indices, i == 0);
    }
    for (const Expr& immediate : call->immediates) each_load(immediate, visit);
  }
}

bool has_thread_loops(const Core& core) {
  if (!core) return false;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node))
    return loop->kind == ForKind::thread || has_thread_loops(loop->body);
  if (const auto* condition = std::get_if<CoreIf>(&core->node))
    return has_thread_loops(condition->then_body) || has_thread_loops(condition->else_body);
  const auto* sequence = std::get_if<CoreSequence>(&core->node);
  return sequence != nullptr && std::ranges::any_of(sequence->body, has_thread_loops);
}

std::optional<Owner> owner_of(const Expr& index, std::int64_t extent, const std::vector<AroundThread>& around,
                              const Bounds& bounds) {
  if (index->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(index);
  const AroundThread* owner = nullptr;
  std::int64_t step = 0;
  Linear rest;
  rest.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    if (const AroundThread* const found = coordinate(term.atom, around)) {
      if (owner != nullptr) return std::nullopt;
      owner = found;
      step = term.coefficient;
    } else if (mentions_coordinate(term.atom, around)) {
      return std::nullopt;
    } else {
      rest.add(term.atom, term.coefficient);
    }
  }
  if (owner == nullptr || step <= 0) return std::nullopt;
  const Expr remainder = simplify(to_expr(rest), bounds);
  const auto range = bound(remainder, bounds);
  if (range && range->min >= 0 && range->max < step) return Owner{owner->axis, false, step, remainder};
  if (step != 1 || !range || range->min < 0 || range->max >= extent) return std::nullopt;
  const std::int64_t threads = owner->extent;
  Linear each;
  if (rest.constant % threads != 0) return std::nullopt;
  each.constant = rest.constant / threads;
  for (const LinearTerm& term : rest.terms) {
    if (term.coefficient % threads != 0) return std::nullopt;
    each.add(term.atom, term.coefficient / threads);
  }
  return Owner{owner->axis, true, (extent + threads - 1) / threads, simplify(to_expr(each), bounds)};
}

}  // namespace dovetail::loops
