#include "loops/core/guards.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "loops/combine.h"
#include "loops/interpreter/access.h"
#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

// The parts of s = s op select(c, e, identity).
struct GuardedUpdate {
  BinaryOp op = BinaryOp::add;
  Expr own, condition, value;
};

std::optional<GuardedUpdate> guarded_update(const CoreStore& store) {
  if (store.targets.size() != 1) return std::nullopt;
  const StoreTarget& target = store.targets.front();
  const auto* n = std::get_if<Binary>(&target.value->node);
  if (n == nullptr) return std::nullopt;
  if (n->op != BinaryOp::add && n->op != BinaryOp::mul && n->op != BinaryOp::min && n->op != BinaryOp::max)
    return std::nullopt;
  const auto is_own = [&](const Expr& e) {
    const auto* l = std::get_if<LoadExpr>(&e->node);
    return l != nullptr && l->buffer == target.buffer && same_place(l->indices, target.indices);
  };
  const bool first = is_own(n->a);
  if (!first && !is_own(n->b)) return std::nullopt;
  const auto* choice = std::get_if<Select>(&(first ? n->b : n->a)->node);
  if (choice == nullptr || !structurally_equal(choice->if_false, identity_of(n->op, target.value->dtype)))
    return std::nullopt;
  const bool starts_here = std::ranges::any_of(store.initialized, [&](const LoadExpr& place) {
    return place.buffer == target.buffer && same_place(place.indices, target.indices);
  });
  if (n->op == BinaryOp::add && is_floating(target.value->dtype) && !(starts_here && store.from_zero))
    return std::nullopt;
  return GuardedUpdate{n->op, first ? n->a : n->b, choice->condition, choice->if_true};
}

void collect(const Core& core, Writes& writes) {
  if (!core) return;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return collect(loop->body, writes);
  if (const auto* n = std::get_if<CoreIf>(&core->node)) {
    collect(n->then_body, writes);
    return collect(n->else_body, writes);
  }
  if (const auto* s = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& inner : s->body) collect(inner, writes);
  } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
    for (const StoreTarget& target : store->targets) writes.buffers.insert(target.buffer.get());
  } else {
    writes.unknown = true;
  }
}

}  // namespace

Expr condition_of(const CoreStore& store) {
  const auto update = guarded_update(store);
  return update ? update->condition : nullptr;
}

CoreStore with_condition(const CoreStore& store, const Expr& remaining) {
  const GuardedUpdate update = *guarded_update(store);
  CoreStore result = store;
  Expr& value = result.targets.front().value;
  value = binary(update.op, update.own,
                 remaining ? select(remaining, update.value, identity_of(update.op, value->dtype)) : update.value);
  return result;
}

std::vector<Expr> terms_of(const Expr& condition) {
  const auto* n = std::get_if<Binary>(&condition->node);
  if (n == nullptr || n->op != BinaryOp::logical_and) return {condition};
  std::vector<Expr> terms = terms_of(n->a);
  for (Expr& term : terms_of(n->b)) terms.push_back(std::move(term));
  return terms;
}

Writes writes_of(const Core& core) {
  Writes writes;
  collect(core, writes);
  return writes;
}

bool mentions(const Expr& expr, const std::set<const VarNode*>& vars) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<VarRef>(&e->node)) found |= vars.contains(n->var.get());
  });
  return found;
}

bool loads_one_of(const Expr& expr, const std::set<const BufferNode*>& buffers) {
  bool found = false;
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node)) found |= buffers.contains(n->buffer.get());
  });
  return found;
}

}  // namespace dovetail::loops
