#include <algorithm>

#include "base/check.h"
#include "base/ndarray.h"
#include "base/saturating.h"
#include "loops/interpreter/access.h"
#include "loops/interpreter/codegen.h"
#include "loops/run_time_checks.h"

namespace dovetail::loops {
namespace {

void collect_stored(const Core& core, std::set<const BufferNode*>& stored) {
  if (!core) return;
  if (const auto* n = std::get_if<CoreIf>(&core->node)) {
    collect_stored(n->then_body, stored);
    collect_stored(n->else_body, stored);
  } else if (const auto* s = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& inner : s->body) collect_stored(inner, stored);
  } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
    for (const StoreTarget& target : store->targets) stored.insert(target.buffer.get());
  }
}

}  // namespace

void Codegen::add_buffer(const Buffer& buffer, int parameter, bool tracked) {
  buffers_[buffer.get()] = static_cast<std::int32_t>(out_.buffers.size());
  out_.buffers.push_back({buffer, register_type(buffer->dtype), element_count(buffer->shape), parameter, tracked});
}

void Codegen::generate() {
  if (core_.body) statement(core_.body, -1);
  Instr halt;
  halt.kernel = halt_kernel();
  emit(halt);
}

std::size_t Codegen::emit(Instr instr) {
  if (!scopes_.empty())
    scopes_.back().cost +=
        instr.wide != 0 && in_lanes() ? static_cast<std::uint64_t>(std::min(space_->count, kLanesPerPass)) : 1;
  out_.code.push_back(instr);
  return out_.code.size() - 1;
}

std::int32_t Codegen::new_register() {
  if (used_ == pool_.size()) pool_.push_back(out_.registers++);
  return pool_[used_++];
}

std::int32_t Codegen::new_alias() {
  if (aliases_used_ == alias_pool_.size()) alias_pool_.push_back(out_.registers++);
  return alias_pool_[aliases_used_++];
}

void Codegen::statement(const Core& core, std::int32_t mask) {
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    if (const auto space = lane_space(*loop)) return emit_lanes(*space);
    return emit_loop(*loop);
  }
  if (const auto* n = std::get_if<CoreIf>(&core->node)) return emit_if(*n, mask);
  if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& inner : n->body) statement(inner, mask);
    return;
  }
  if (std::holds_alternative<CoreBarrier>(core->node)) return;  // iterations run in order
  DOVETAIL_CHECK(!std::holds_alternative<CoreShuffle>(core->node), "lowered threads must run on run_threads");
  if (const auto* n = std::get_if<CoreForget>(&core->node)) {
    Instr forget;
    forget.kernel = forget_kernel();
    forget.buffer = buffers_.at(n->buffer.get());
    if (out_.buffers[static_cast<std::size_t>(forget.buffer)].tracked) emit(forget);
    return;
  }
  DOVETAIL_CHECK(std::holds_alternative<CoreStore>(core->node), "calls and copies of GPU threads must not occur here");
  const auto& store = std::get<CoreStore>(core->node);
  block_ = store.block;
  const std::size_t used = used_, aliases_used = aliases_used_;
  if (!in_lanes()) {
    stored_.clear();
    collect_stored(core, stored_);
  }
  share_in(store.targets);
  if (in_lanes() && space_->reductions.count(&store) != 0) emit_reduction(store, mask);
  else emit_store(store, mask);
  shared_.clear();
  used_ = used;
  aliases_used_ = aliases_used;
}

std::size_t Codegen::begin_loop(const CoreLoop& loop, std::int64_t step, bool in_lanes) {
  LoopInfo info;
  info.extent = loop.extent;
  info.step = step;
  info.in_lanes = in_lanes;
  if (loop.first) info.first = uniform_value(loop.first);
  if (loop.end) info.end = uniform_value(loop.end);
  Instr begin;
  begin.kernel = loop_begin_kernel(loop.first || loop.end);
  begin.d = static_cast<std::int32_t>(out_.loops.size());
  // A loop that data may end counts once, since its bound says nothing of what a run takes.
  const auto of_data = [](const Expr& expr) { return expr && holds_load(expr); };
  const bool ends_with_data = of_data(loop.first) || of_data(loop.end) || of_data(loop.proceed);
  const auto passes = ends_with_data ? 1 : static_cast<std::uint64_t>((loop.extent + step - 1) / step);
  scopes_.push_back(
      {loop.var.get(), begin.d, {}, saturating_product(passes, scopes_.empty() ? 1 : scopes_.back().runs)});
  out_.loops.push_back(std::move(info));
  return emit(begin);
}

// The value of an expression outside the loop that it bounds. Its register must not be one of the body's.
std::int32_t Codegen::uniform_value(const Expr& expr) {
  const LaneSpace* const space = std::exchange(space_, nullptr);
  const std::int32_t result = value(expr, -1).reg;
  space_ = space;
  return result;
}

void Codegen::end_loop(std::size_t begin) {
  Instr end;
  end.kernel = loop_end_kernel();
  end.d = scopes_.back().index;
  end.imm = static_cast<std::int64_t>(begin) + 1 - static_cast<std::int64_t>(out_.code.size());
  emit(end);
  const LoopInfo& info = out_.loops[static_cast<std::size_t>(scopes_.back().index)];
  if (info.first >= 0 || info.end >= 0) patch_jump(begin);
  const LoopScope& scope = scopes_.back();
  out_.loops[static_cast<std::size_t>(scope.index)].cost = scope.cost;
  out_.steps = saturating_sum(out_.steps, saturating_product(scope.runs, scope.cost));
  scopes_.pop_back();
}

void Codegen::emit_loop(const CoreLoop& loop) {
  const std::size_t used = used_, aliases_used = aliases_used_;
  const std::size_t begin = begin_loop(loop, 1, false);
  std::optional<std::size_t> leave;
  if (loop.proceed) {
    stored_.clear();
    Instr jump;
    jump.kernel = jump_if_false_kernel();
    jump.a = uniform_value(loop.proceed);
    leave = emit(jump);
  }
  statement(loop.body, -1);
  end_loop(begin);
  if (leave) patch_jump(*leave);
  used_ = used;
  aliases_used_ = aliases_used;
}

void Codegen::emit_lanes(const LaneSpace& space) {
  space_ = &space;
  stored_.clear();
  collect_stored(space.body, stored_);
  const std::size_t used = used_, aliases_used = aliases_used_;
  const CoreLoop& outermost = *space.loops[0];
  in_passes_ = space.count > kLanesPerPass || outermost.first || outermost.end;
  out_.lanes = std::max(out_.lanes, std::min(space.count, kLanesPerPass));
  if (in_passes_) {
    const std::size_t begin = begin_loop(*space.loops[0], kLanesPerPass, true);
    statement(space.body, -1);
    end_loop(begin);
  } else {
    Instr lanes;
    lanes.kernel = set_lanes_kernel();
    lanes.imm = space.count;
    emit(lanes);
    statement(space.body, -1);
  }
  space_ = nullptr;
  in_passes_ = false;
  used_ = used;
  aliases_used_ = aliases_used;
}

std::int32_t Codegen::mask_of(Value condition, std::int32_t mask, bool negated) {
  Instr instr;
  instr.kernel = mask_kernel(negated);
  instr.wide = 1;
  instr.a = in_all_lanes(condition, DType::boolean).reg;
  instr.mask = mask;
  instr.d = new_register();
  emit(instr);
  return instr.d;
}

void Codegen::emit_if(const CoreIf& n, std::int32_t mask) {
  const Facts saved = facts_, saved_unmasked = unmasked_facts_;
  const std::size_t used = used_, aliases_used = aliases_used_;
  if (!in_lanes()) stored_.clear();
  const Value condition = value(n.condition, mask);
  const bool jumps = !condition.wide && mask < 0;
  if (jumps) {
    Instr skip;
    skip.kernel = jump_if_false_kernel();
    skip.a = condition.reg;
    const std::size_t to_else = emit(skip);
    facts_.assume(n.condition), unmasked_facts_.assume(n.condition);
    statement(n.then_body, -1);
    if (n.else_body) {
      Instr over;
      over.kernel = jump_kernel();
      const std::size_t to_end = emit(over);
      patch_jump(to_else);
      facts_ = saved, unmasked_facts_ = saved_unmasked;
      facts_.assume_not(n.condition), unmasked_facts_.assume_not(n.condition);
      statement(n.else_body, -1);
      patch_jump(to_end);
    } else {
      patch_jump(to_else);
    }
  } else {
    const std::int32_t then_mask = mask_of(condition, mask, false);
    const std::int32_t else_mask = n.else_body ? mask_of(condition, mask, true) : -1;
    facts_.assume(n.condition);
    statement(n.then_body, then_mask);
    facts_ = saved;
    facts_.assume_not(n.condition);
    if (n.else_body) statement(n.else_body, else_mask);
  }
  facts_ = saved, unmasked_facts_ = saved_unmasked;
  used_ = used;
  aliases_used_ = aliases_used;
}

void Codegen::emit_store(const CoreStore& n, std::int32_t mask) {
  struct Pending {
    Place place;
    std::int32_t value;
  };
  std::vector<Pending> pending;
  for (const StoreTarget& target : n.targets) {
    Place to = place(target.buffer, target.indices, mask);
    Value from = value(target.value, mask);
    if (in_lanes() && !to.wide && (from.wide || mask >= 0)) {  // all lanes store to one element: the last one remains
      to.wide = true;
      if (to.addressing == Addressing::computed) {
        to.computed = in_all_lanes(Value{to.computed}, DType::int64).reg;
      } else {
        to.addressing = Addressing::strided;
        to.stride = 0;
      }
    }
    to.mask = to.wide ? mask : -1;
    if (to.wide) from = in_all_lanes(from, target.buffer->dtype);
    pending.push_back({to, from.reg});
  }
  for (const Pending& p : pending) {
    const BufferInfo& info = out_.buffers[static_cast<std::size_t>(p.place.buffer)];
    Instr store = at(p.place, store_kernel(info.storage, p.place.addressing));
    store.b = p.value;
    emit(store);
    if (info.tracked) emit(at(p.place, mark_defined_kernel(p.place.addressing)));
  }
}

void Codegen::emit_reduction(const CoreStore& n, std::int32_t mask) {
  const StoreTarget& target = n.targets[0];
  const auto reduction = as_reduction(n);
  DOVETAIL_CHECK(reduction.has_value(), "lane_space must have found a reduction");
  Place to = place(target.buffer, target.indices, mask);
  Place checked = to;
  if (mask >= 0) {
    checked.wide = true;
    checked.addressing = Addressing::strided;
    checked.stride = 0;
    checked.mask = mask;
  }
  check_defined(checked, target.buffer);
  const Value from = in_all_lanes(value(reduction->value, mask), target.buffer->dtype);
  Instr reduce = at(to, reduce_kernel(reduction->op, register_type(target.buffer->dtype)));
  reduce.wide = 1;
  reduce.mask = mask;
  reduce.a = from.reg;
  emit(reduce);
}

}  // namespace dovetail::loops
