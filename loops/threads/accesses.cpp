#include "loops/threads/accesses.h"

#include <algorithm>

#include "loops/integer.h"
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
  } else if (const auto* shuffle = std::get_if<CoreShuffle>(&core->node)) {
    visit(shuffle->from.buffer, shuffle->from.indices, false);
    visit(shuffle->to.buffer, shuffle->to.indices, true);
  } else if (const auto* call = std::get_if<CoreCall>(&core->node)) {
    for (std::size_t i = 0; i < call->operands.size(); ++i) {
      for (const Expr& index : call->operands[i].indices) each_load(index, visit);
      visit(call->operands[i].buffer, call->operands[i].indices, i == 0);
    }
    for (const Expr& immediate : call->immediates) each_load(immediate, visit);
  } else if (const auto* copy = std::get_if<CoreAsyncCopy>(&core->node)) {
    for (const auto* indices : {&copy->to_indices, &copy->from_indices})
      for (const Expr& index : *indices) each_load(index, visit);
    each_load(copy->condition, visit);
    visit(copy->from, copy->from_indices, false);
    visit(copy->to, copy->to_indices, true);
  } else if (const auto* box = std::get_if<CoreBoxCopy>(&core->node)) {
    visit(box->signals, {box->signal}, false);
    visit(box->from, std::vector<Expr>(box->from->shape.size(), int_imm(0)), false);
    visit(box->to, box->to_indices, true);
  } else if (const auto* signal = std::get_if<CoreSignal>(&core->node)) {
    visit(signal->signals, {signal->signal}, signal->step == CoreSignal::Step::start);
  }
}

namespace {

template <typename T>
void each_of_kind(const Core& core, const std::function<void(const T&)>& visit) {
  if (!core) return;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    each_of_kind(loop->body, visit);
  } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
    each_of_kind(condition->then_body, visit);
    each_of_kind(condition->else_body, visit);
  } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) each_of_kind(part, visit);
  } else if (const auto* found = std::get_if<T>(&core->node)) {
    visit(*found);
  }
}

}  // namespace

void each_copy(const Core& core, const std::function<void(const CoreAsyncCopy&)>& visit) { each_of_kind(core, visit); }
void each_box_copy(const Core& core, const std::function<void(const CoreBoxCopy&)>& visit) {
  each_of_kind(core, visit);
}
void each_call(const Core& core, const std::function<void(const CoreCall&)>& visit) { each_of_kind(core, visit); }

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
  Linear others;
  others.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    if (const AroundThread* const found = coordinate(term.atom, around)) {
      if (owner != nullptr) return std::nullopt;
      owner = found;
      step = term.coefficient;
    } else if (mentions_coordinate(term.atom, around)) {
      return std::nullopt;
    } else {
      others.add(term.atom, term.coefficient);
    }
  }
  if (owner == nullptr || step <= 0) return std::nullopt;
  const std::int64_t round = step * owner->extent, rounds = (extent + round - 1) / round;
  Linear rest, own;
  rest.constant = floor_mod(others.constant, round);
  own.constant = floor_div(others.constant, round) * step;
  for (const LinearTerm& term : others.terms)
    if (term.coefficient % round == 0) own.add(term.atom, term.coefficient / round * step);
    else rest.add(term.atom, term.coefficient);
  const auto inside = bound(to_expr(rest), bounds), rounded = bound(to_expr(own), bounds);
  if (!inside || inside->min < 0 || inside->max >= step) return std::nullopt;
  if (!rounded || rounded->min < 0 || rounded->max >= rounds * step) return std::nullopt;
  own.add(rest, 1);
  return Owner{owner->axis, step, rounds * step, simplify(to_expr(own), bounds)};
}

std::optional<std::int64_t> stripe_of(const Expr& index, std::int64_t elements, std::string_view axis,
                                      const std::vector<AroundThread>& around, const Bounds& bounds) {
  if (index->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(index);
  std::int64_t step = 0, threads = 1;
  for (const LinearTerm& term : form.terms)
    if (const AroundThread* const found = coordinate(term.atom, around); found != nullptr && found->axis == axis)
      step = term.coefficient, threads = found->extent;
  if (step <= 0) return std::nullopt;
  Linear rest;
  rest.constant = floor_mod(form.constant, step * threads);
  for (const LinearTerm& term : form.terms) {
    const AroundThread* const found = coordinate(term.atom, around);
    if (found != nullptr && found->axis == axis) continue;
    if (term.coefficient % (step * threads) != 0) rest.add(term.atom, term.coefficient);
    else if (mentions_coordinate(term.atom, around)) return std::nullopt;
  }
  const auto inside = bound(to_expr(rest), bounds);
  if (!inside || inside->min < 0 || inside->max + elements > step) return std::nullopt;
  return step;
}

}  // namespace dovetail::loops
