#include "loops/threads/insert_barriers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loops/integer.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/threads/accesses.h"
#include "loops/threads/thread_program.h"

namespace dovetail::loops {

namespace {

struct Touch {
  Buffer buffer;
  std::vector<Expr> indices;
  bool written = false;
  bool by_any = false;  // the accessing thread may vary: a condition that all threads evaluate, or an asynchronous copy
  std::vector<AroundThread> around;
  std::set<const CoreLoop*> carried;  // from an earlier iteration of these loops
  // The first `exact` indices are those of all elements; the others cover more than the given element.
  std::size_t exact = 0;
  bool by_unit = false;  // a hardware unit writes it
  // For a warp's calls: the number of neighbors in each dimension that one lane accesses. Empty otherwise.
  Shape by_warp = {};
  bool warp_met = false;  // the threads of each warp have synchronized since the access
};

// Which threads need to synchronize.
enum class Need : std::uint8_t { none, warp, block };

constexpr std::size_t kBoxDimensions = 2;  // the last dimensions of the buffer that a box fills

// The accesses that may still conflict with a later region.
struct Pending {
  std::vector<Touch> touches;  // since the last barrier
  std::vector<Touch> started;  // by asynchronous copies that may still be in flight
  std::vector<Touch> called;   // reads by asynchronous calls that may still be in flight
};

bool same_axes(const std::vector<AroundThread>& a, const std::vector<AroundThread>& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const AroundThread& one) {
           return std::ranges::any_of(b, [&](const AroundThread& other) { return other.axis == one.axis; });
         });
}

bool same_indices(const Touch& a, const Touch& b) {
  return std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(), structurally_equal);
}

void add(std::vector<Touch>& list, Touch touch) {
  const bool known = std::ranges::any_of(list, [&](const Touch& other) {
    return other.buffer == touch.buffer && other.written == touch.written && other.by_any == touch.by_any &&
           other.carried == touch.carried && other.exact == touch.exact && other.by_unit == touch.by_unit &&
           other.by_warp == touch.by_warp && other.warp_met == touch.warp_met &&
           same_axes(other.around, touch.around) && same_indices(other, touch);
  });
  if (!known) list.push_back(std::move(touch));
}
void add(Pending& to, const Pending& from) {
  for (const Touch& touch : from.touches) add(to.touches, touch);
  for (const Touch& touch : from.started) add(to.started, touch);
  for (const Touch& touch : from.called) add(to.called, touch);
}

class Inserter {
 public:
  Inserter(const Core& kernel, const OwnBuffers& own, const Bounds& bounds) : own_(own), bounds_(bounds) {
    each_call(kernel, [&](const CoreCall& call) {
      for (std::size_t i = 1; call.later && i < call.operands.size(); ++i)
        of_units_.insert(call.operands[i].buffer.get());
    });
    each_box_copy(kernel, [&](const CoreBoxCopy& copy) {
      of_units_.insert(copy.to.get());
      of_units_.insert(copy.signals.get());
    });
  }

  Core insert(const Core& core, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    if (!core) return core;
    if (is_synchronization(core)) {
      if (const auto* group = std::get_if<CoreAsyncGroup>(&core->node);
          group != nullptr && group->step == CoreAsyncGroup::Step::wait)
        wait(group->groups, pending.started, pending);
      if (const auto* group = std::get_if<CoreCallGroup>(&core->node);
          group != nullptr && group->step == CoreCallGroup::Step::wait)
        wait(group->groups, pending.called, pending);
      if (const auto* signal = std::get_if<CoreSignal>(&core->node)) return wait(*signal, core, divergent, pending);
      return core;
    }
    if (!has_thread_loops(core) && !has_synchronization(core)) return meet(core, core, around, divergent, pending);
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      if (loop->kind != ForKind::thread) return insert_in_loop(*loop, std::move(around), divergent, pending);
      around.push_back({loop->thread_axis, loop->var.get(), loop->extent});
      if (!has_thread_loops(loop->body)) return meet(core, loop->body, around, divergent, pending);
      CoreLoop result = *loop;
      result.body = insert(loop->body, std::move(around), divergent, pending);
      return make_core(std::move(result));
    }
    if (const auto* condition = std::get_if<CoreIf>(&core->node))
      return insert_in_if(*condition, std::move(around), divergent, pending);
    std::vector<Core> body;
    for (const Core& part : std::get<CoreSequence>(core->node).body)
      body.push_back(insert(part, around, divergent, pending));
    return core_sequence(std::move(body));
  }

  std::optional<std::string> problem;

 private:
  // Asynchronous accesses are complete for their own thread after its wait, and for all threads only after a barrier.
  static void wait(std::int64_t groups, std::vector<Touch>& begun, Pending& pending) {
    for (const Touch& touch : begun) add(pending.touches, touch);
    if (groups == 0) begun.clear();
  }

  // All threads access the signal.
  Core wait(const CoreSignal& signal, const Core& core, bool divergent, Pending& pending) {
    Touch touch{signal.signals, {signal.signal}, false, true, {}, {}, 1};
    const Core in_front = wait_for(conflict(pending.touches, {touch}), divergent, pending);
    add(pending.touches, std::move(touch));
    return core_sequence({in_front, core});
  }

  // For accesses before the loop, one barrier before it may replace one in each iteration.
  Core insert_in_loop(const CoreLoop& loop, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    std::vector<Touch> inside;
    collect(loop.body, around, inside);
    const Need need = conflict(pending.touches, inside);
    if (divergent || need == Need::none) return insert_inside(loop, std::move(around), divergent, pending);
    const std::optional<std::string> before = problem;
    Pending waited = pending;
    const Core wait = wait_for(need, divergent, waited);
    const Core in_front = insert_inside(loop, around, divergent, waited);
    const std::optional<std::string> problem_then = std::exchange(problem, before);
    const Core inside_alone = insert_inside(loop, std::move(around), divergent, pending);
    if (count_barriers(in_front) >= count_barriers(inside_alone)) return inside_alone;
    problem = problem_then;
    pending = std::move(waited);
    return core_sequence({wait, in_front});
  }

  // Compares the alternatives by cost.
  static int count_barriers(const Core& core) {
    if (!core) return 0;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return count_barriers(loop->body);
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return count_barriers(n->then_body) + count_barriers(n->else_body);
    constexpr int kOfBlock = 2, kOfWarp = 1;
    const auto* barrier = std::get_if<CoreBarrier>(&core->node);
    int count = barrier == nullptr ? 0 : barrier->of_warp ? kOfWarp : kOfBlock;
    if (const auto* sequence = std::get_if<CoreSequence>(&core->node))
      for (const Core& part : sequence->body) count += count_barriers(part);
    return count;
  }

  // The last region of an iteration is followed by the first one of the next. Indices keep their relation to those of
  // the preceding iteration; for earlier ones nothing is known, which matters if no barrier is in between.
  Core insert_inside(const CoreLoop& loop, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    const Pending before = pending;
    uniform_.insert(loop.var.get());
    Pending first = before;
    insert(loop.body, around, divergent, first);
    const Pending carried = from_before(first, loop, ref(loop.var) - 1);
    add(pending, carried);
    Pending second = pending;
    insert(loop.body, around, divergent, second);
    const bool stays = std::ranges::any_of(second.touches, [&](const Touch& t) { return t.carried.contains(&loop); });
    const Expr unrelated = ref(other_than(loop));
    if (stays) add(pending, from_before(first, loop, unrelated));
    CoreLoop result = loop;
    result.body = insert(loop.body, std::move(around), divergent, pending);
    uniform_.erase(loop.var.get());
    pending = from_before(std::move(pending), loop, unrelated);
    for (std::vector<Touch>* list : {&pending.touches, &pending.started, &pending.called})
      for (Touch& touch : *list) touch.carried.erase(&loop);
    return make_core(std::move(result));
  }

  // As seen from an iteration in which the loop's variable was `earlier`. Copies may have been started long ago.
  Pending from_before(Pending pending, const CoreLoop& loop, const Expr& earlier) {
    const auto move = [&](std::vector<Touch>& list, const Expr& to) {
      std::vector<Touch> moved;
      for (Touch& touch : list) {
        for (Expr& index : touch.indices) index = substitute(index, {{loop.var.get(), to}});
        touch.carried.insert(&loop);
        add(moved, std::move(touch));
      }
      list = std::move(moved);
    };
    move(pending.touches, earlier);
    move(pending.started, ref(other_than(loop)));
    move(pending.called, ref(other_than(loop)));
    return pending;
  }
  Var other_than(const CoreLoop& loop) {
    Var& var = others_[loop.var.get()];
    if (!var) var = make_var(loop.var->name);
    return var;
  }

  Core insert_in_if(const CoreIf& n, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    std::vector<Touch> touched;
    bool differs = divergent;
    visit_exprs(n.condition, [&](const Expr& e) {
      if (const auto* access = std::get_if<LoadExpr>(&e->node))
        add(touched, {access->buffer, access->indices, false, true, {}, {}, 0});
      if (const auto* use = std::get_if<VarRef>(&e->node))
        differs |= std::ranges::any_of(around, [&](const AroundThread& a) { return a.var == use->var.get(); });
    });
    // A barrier that the inner statements need is placed before the statement: then it is executed whatever the
    // condition is.
    std::vector<Touch> inside = touched;
    collect(n.then_body, around, inside);
    collect(n.else_body, around, inside);
    const Core wait = wait_for(conflict(pending.touches, inside), divergent, pending);
    for (Touch& touch : touched) add(pending.touches, std::move(touch));
    Pending otherwise = pending;
    const Core then_body = insert(n.then_body, around, differs, pending);
    const Core else_body = insert(n.else_body, std::move(around), differs, otherwise);
    add(pending, otherwise);
    return core_sequence({wait, core_if(n.condition, then_body, else_body)});
  }

  // The accesses of all regions in it.
  void collect(const Core& core, std::vector<AroundThread> around, std::vector<Touch>& touched) const {
    if (!core || is_synchronization(core)) return;
    if (!has_thread_loops(core)) return collect_region(core, around, touched);
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      // The loop's iteration is not known before the loop.
      if (loop->kind == ForKind::thread) around.push_back({loop->thread_axis, loop->var.get(), loop->extent});
      collect(loop->body, std::move(around), touched);
    } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
      visit_exprs(condition->condition, [&](const Expr& e) {
        if (const auto* access = std::get_if<LoadExpr>(&e->node))
          add(touched, {access->buffer, access->indices, false, true, {}, {}, 0});
      });
      collect(condition->then_body, around, touched);
      collect(condition->else_body, around, touched);
    } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& part : sequence->body) collect(part, around, touched);
    }
  }
  void collect_region(const Core& region, const std::vector<AroundThread>& around, std::vector<Touch>& touched) const {
    std::map<const BufferNode*, std::size_t> several;  // the number of exact indices
    each_copy(region, [&](const CoreAsyncCopy& copy) {
      for (const Buffer& buffer : {copy.to, copy.from}) several.emplace(buffer.get(), run_dimension(buffer->shape));
    });
    std::set<const BufferNode*> by_units, by_others = {};
    std::map<const BufferNode*, Shape> by_warps;
    for (const auto& [buffer, exact] : several) by_others.insert(buffer);
    each_box_copy(region, [&](const CoreBoxCopy& copy) {
      several.emplace(copy.to.get(), copy.to_indices.size() - kBoxDimensions);
      several.emplace(copy.from.get(), 0);
      several.emplace(copy.signals.get(), 1);
      by_units.insert(copy.to.get());
    });
    each_call(region, [&](const CoreCall& call) {
      for (const IntrinsicOperand& operand : call.operands) {
        std::size_t exact = 0;
        while (exact < operand.extents.size() && operand.extents[exact] == 1) ++exact;
        const auto [known, fresh] = several.emplace(operand.buffer.get(), exact);
        known->second = std::min(known->second, exact);
        Shape& most = by_warps.try_emplace(operand.buffer.get(), operand.extents).first->second;
        for (std::size_t d = 0; d < most.size(); ++d) most[d] = std::max(most[d], operand.extents[d]);
        if (call.later) by_others.insert(operand.buffer.get());
      }
    });
    // A value that each thread computes for itself is also read only by that thread, whatever axes the loops are bound
    // to.
    bool by_each = false;
    each_access(region, [&](const Buffer& buffer, const auto&, bool written) {
      by_each |= written && around.size() < own_.axes && own_.replicated.contains(buffer.get());
    });
    each_access(region, [&](const Buffer& buffer, const std::vector<Expr>& indices, bool written) {
      if (own_.all.contains(buffer.get())) return;
      const auto found = several.find(buffer.get());
      const bool one = found == several.end();
      const auto of_warp = by_warps.find(buffer.get());
      add(touched, {buffer,
                    indices,
                    written,
                    !one || (by_each && !written),
                    around,
                    {},
                    one ? indices.size() : found->second,
                    by_units.contains(buffer.get()),
                    of_warp == by_warps.end() || by_others.contains(buffer.get()) ? Shape{} : of_warp->second});
    });
  }

  // A region with its enclosing loops.
  Core meet(const Core& whole, const Core& region, const std::vector<AroundThread>& around, bool divergent,
            Pending& pending) {
    std::vector<Touch> touched;
    collect_region(region, around, touched);
    const Core wait = wait_for(conflict(pending.touches, touched), divergent, pending);
    each_copy(region, [&](const CoreAsyncCopy& copy) {
      add(pending.started, {copy.to, copy.to_indices, true, true, around, {}, run_dimension(copy.to->shape)});
      add(pending.started, {copy.from, copy.from_indices, false, true, around, {}, run_dimension(copy.from->shape)});
    });
    each_call(region, [&](const CoreCall& call) {
      if (!call.later) return;
      for (const Touch& touch : touched)
        if (!touch.written && std::ranges::any_of(call.operands, [&](const IntrinsicOperand& operand) {
              return operand.buffer == touch.buffer;
            }))
          add(pending.called, touch);
    });
    for (Touch& touch : touched) add(pending.touches, std::move(touch));
    return core_sequence({wait, whole});
  }

  Core barrier(bool divergent, Pending& pending) {
    if (divergent && !problem)
      problem = fmt::format(
          "threads must wait for each other because of {}, under a condition that differs "
          "between them",
          pending.touches.front().buffer->name);
    const bool fences = std::ranges::any_of(pending.touches, [&](const Touch& touch) {
      return touch.written && !touch.by_unit && of_units_.contains(touch.buffer.get());
    });
    pending.touches.clear();
    return core_sequence({fences ? make_core(CoreProxyFence{}) : nullptr, make_core(CoreBarrier{})});
  }

  Core wait_for(Need need, bool divergent, Pending& pending) {
    const bool by_units = std::ranges::any_of(
        pending.touches, [&](const Touch& touch) { return of_units_.contains(touch.buffer.get()); });
    if (need == Need::none) return nullptr;
    if (need == Need::block || divergent || by_units) return barrier(divergent, pending);
    for (Touch& touch : pending.touches) touch.warp_met = true;
    return make_core(CoreBarrier{.of_warp = true});
  }

  Need conflict(const std::vector<Touch>& before, const std::vector<Touch>& now) const {
    Need need = Need::none;
    for (const Touch& a : before)
      for (const Touch& b : now)
        if (a.buffer == b.buffer && (a.written || b.written) && !same_thread(a, b) && !apart(a, b)) {
          if (!same_warp(a, b)) return Need::block;
          if (!a.warp_met) need = Need::warp;
        }
    return need;
  }

  // Whether every element in both accesses is accessed by threads of one warp only.
  bool same_warp(const Touch& a, const Touch& b) const {
    const auto unit = [&](const Touch& touch, std::size_t d, const std::string& axis) {
      return stripe_of(touch.indices[d], touch.by_warp.empty() ? 1 : touch.by_warp[d], axis, touch.around, bounds_);
    };
    const auto known = [](const Touch& touch) { return !touch.by_any || !touch.by_warp.empty(); };
    if (own_.warp_axes.empty() || !known(a) || !known(b)) return false;
    return std::ranges::all_of(own_.warp_axes, [&](const std::string& axis) {
      for (std::size_t d = 0; d < a.indices.size(); ++d)
        if (const auto of_a = unit(a, d, axis); of_a && of_a == unit(b, d, axis)) return true;
      return false;
    });
  }

  // Whether every element in both accesses is accessed by one thread only.
  bool same_thread(const Touch& a, const Touch& b) const {
    if (a.by_any || b.by_any || !same_axes(a.around, b.around)) return false;
    return std::ranges::all_of(a.around, [&](const AroundThread& thread) {
      for (std::size_t d = 0; d < a.indices.size(); ++d) {
        const auto first = owner_of(a.indices[d], a.buffer->shape[d], a.around, bounds_);
        const auto second = owner_of(b.indices[d], b.buffer->shape[d], b.around, bounds_);
        if (first && second && first->axis == thread.axis && first->same_form(*second)) return true;
      }
      return false;
    });
  }

  // Whether the two access different elements: in some dimension their indices, which depend only on variables common
  // to all threads, differ.
  bool apart(const Touch& a, const Touch& b) const {
    for (std::size_t d = 0; d < std::min(a.exact, b.exact); ++d)
      if (is_uniform(a.indices[d]) && is_uniform(b.indices[d]) && differ(a.indices[d], b.indices[d])) return true;
    return false;
  }
  bool is_uniform(const Expr& index) const {
    bool uniform = index->dtype == DType::int64;
    visit_exprs(index, [&](const Expr& e) {
      uniform &= !std::holds_alternative<LoadExpr>(e->node);
      if (const auto* n = std::get_if<VarRef>(&e->node)) uniform &= uniform_.contains(n->var.get());
    });
    return uniform;
  }
  bool differ(const Expr& a, const Expr& b) const {
    if (const auto distance = constant_of(a, b)) return *distance != 0;
    // x % m and y % m, where x - y is not a multiple of m.
    const auto first = remainder(a), second = remainder(b);
    if (!first || !second || first->modulus != second->modulus) return false;
    const auto distance = constant_of(first->of, second->of);
    return distance && floor_mod(*distance, first->modulus) != 0;
  }
  static std::optional<std::int64_t> constant_of(const Expr& a, const Expr& b) {
    const Linear distance = linear_form(a - b);
    return distance.terms.empty() ? std::optional(distance.constant) : std::nullopt;
  }
  struct Remainder {
    Expr of;
    std::int64_t modulus;
  };
  static std::optional<Remainder> remainder(const Expr& expr) {
    const auto* n = std::get_if<Binary>(&expr->node);
    if (n == nullptr || n->op != BinaryOp::floor_mod) return std::nullopt;
    const auto* modulus = std::get_if<IntImm>(&n->b->node);
    return modulus != nullptr && modulus->value > 0 ? std::optional(Remainder{n->a, modulus->value}) : std::nullopt;
  }

  const OwnBuffers& own_;
  const Bounds& bounds_;
  std::set<const VarNode*> uniform_;      // variables of open loops that all threads run together
  std::set<const BufferNode*> of_units_;  // buffers that hardware units access directly
  std::map<const VarNode*, Var> others_;  // the same loop's variable in an unknown iteration
};

}  // namespace

Result<Core> insert_barriers(const Core& kernel, const OwnBuffers& own, const Bounds& bounds,
                             const std::string& where) {
  Inserter inserter(kernel, own, bounds);
  Pending pending;
  Core result = inserter.insert(kernel, {}, false, pending);
  if (inserter.problem)
    return Diagnostic{"cannot lower to threads", where, *inserter.problem,
                      "move the condition into the loops bound to threads"};
  return result;
}

}  // namespace dovetail::loops
