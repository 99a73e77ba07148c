#include "loops/threads/insert_barriers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loops/print.h"
#include "loops/rewrite.h"
#include "loops/threads/accesses.h"

namespace dovetail::loops {

namespace {

struct Touch {
  Buffer buffer;
  std::vector<Expr> indices;
  bool written = false;
  bool by_all = false;  // every thread reads it: a condition that all evaluate
  std::vector<AroundThread> around;
};
using Pending = std::vector<Touch>;  // since the last barrier

bool same_axes(const std::vector<AroundThread>& a, const std::vector<AroundThread>& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const AroundThread& one) {
           return std::ranges::any_of(b, [&](const AroundThread& other) { return other.axis == one.axis; });
         });
}

bool same_indices(const Touch& a, const Touch& b) {
  return std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(), structurally_equal);
}

class Inserter {
 public:
  Inserter(const std::set<const BufferNode*>& own, const Bounds& bounds) : own_(own), bounds_(bounds) {}

  Core insert(const Core& core, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    if (!core) return core;
    if (!has_thread_loops(core)) return meet(core, core, around, divergent, pending);
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
  // What follows the last region of an iteration is the first one of the next.
  Core insert_in_loop(const CoreLoop& loop, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    Pending first = pending;
    insert(loop.body, around, divergent, first);
    for (Touch& touch : first) add(pending, std::move(touch));
    CoreLoop result = loop;
    result.body = insert(loop.body, std::move(around), divergent, pending);
    return make_core(std::move(result));
  }

  Core insert_in_if(const CoreIf& n, std::vector<AroundThread> around, bool divergent, Pending& pending) {
    Pending touched;
    bool differs = divergent;
    visit_exprs(n.condition, [&](const Expr& e) {
      if (const auto* access = std::get_if<LoadExpr>(&e->node))
        add(touched, {access->buffer, access->indices, false, true, {}});
      if (const auto* use = std::get_if<VarRef>(&e->node))
        differs |= std::ranges::any_of(around, [&](const AroundThread& a) { return a.var == use->var.get(); });
    });
    const bool wait = conflict(pending, touched);
    if (wait) barrier(divergent, pending);
    for (Touch& touch : touched) add(pending, std::move(touch));
    Pending otherwise = pending;
    const Core then_body = insert(n.then_body, around, differs, pending);
    const Core else_body = insert(n.else_body, std::move(around), differs, otherwise);
    for (Touch& touch : otherwise) add(pending, std::move(touch));
    const Core result = core_if(n.condition, then_body, else_body);
    return wait ? core_sequence({make_core(CoreBarrier{}), result}) : result;
  }

  // A region with what is around it.
  Core meet(const Core& whole, const Core& region, const std::vector<AroundThread>& around, bool divergent,
            Pending& pending) {
    Pending touched;
    each_access(region, [&](const Buffer& buffer, const std::vector<Expr>& indices, bool written) {
      if (!own_.contains(buffer.get())) add(touched, {buffer, indices, written, false, around});
    });
    const bool wait = conflict(pending, touched);
    if (wait) barrier(divergent, pending);
    for (Touch& touch : touched) add(pending, std::move(touch));
    return wait ? core_sequence({make_core(CoreBarrier{}), whole}) : whole;
  }

  void barrier(bool divergent, Pending& pending) {
    if (divergent && !problem)
      problem = fmt::format(
          "threads have to wait for one another on account of {}, under a condition that differs "
          "between them",
          pending.front().buffer->name);
    pending.clear();
  }

  static void add(Pending& pending, Touch touch) {
    const bool known = std::ranges::any_of(pending, [&](const Touch& other) {
      return other.buffer == touch.buffer && other.written == touch.written && other.by_all == touch.by_all &&
             same_axes(other.around, touch.around) && same_indices(other, touch);
    });
    if (!known) pending.push_back(std::move(touch));
  }

  bool conflict(const Pending& before, const Pending& now) const {
    return std::ranges::any_of(before, [&](const Touch& a) {
      return std::ranges::any_of(
          now, [&](const Touch& b) { return a.buffer == b.buffer && (a.written || b.written) && !same_thread(a, b); });
    });
  }

  // Whatever element both touch, one thread touches it.
  bool same_thread(const Touch& a, const Touch& b) const {
    if (a.by_all || b.by_all || !same_axes(a.around, b.around)) return false;
    return std::ranges::all_of(a.around, [&](const AroundThread& thread) {
      for (std::size_t d = 0; d < a.indices.size(); ++d) {
        const auto first = owner_of(a.indices[d], a.buffer->shape[d], a.around, bounds_);
        const auto second = owner_of(b.indices[d], b.buffer->shape[d], b.around, bounds_);
        if (first && second && first->axis == thread.axis && first->same_form(*second)) return true;
      }
      return false;
    });
  }

  const std::set<const BufferNode*>& own_;
  const Bounds& bounds_;
};

}  // namespace

Result<Core> insert_barriers(const Core& kernel, const std::set<const BufferNode*>& own, const Bounds& bounds,
                             const std::string& where) {
  Inserter inserter(own, bounds);
  Pending pending;
  Core result = inserter.insert(kernel, {}, false, pending);
  if (inserter.problem)
    return Diagnostic{"cannot lower to threads", where, *inserter.problem,
                      "move the condition into the loops bound to threads"};
  return result;
}

}  // namespace dovetail::loops
