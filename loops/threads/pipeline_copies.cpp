#include "loops/threads/pipeline_copies.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "loops/core/hoist_conditions.h"
#include "loops/core/instantiate.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/stages.h"
#include "loops/threads/accesses.h"
#include "loops/threads/box_copies.h"
#include "loops/threads/complete_calls.h"
#include "loops/threads/fetch.h"
#include "loops/threads/neighbors.h"
#include "loops/threads/rewrite_accesses.h"

namespace dovetail::loops {

namespace {

constexpr std::int64_t kMostCopyBytes = 16, kLeastCopyBytes = 4;

struct Touched {
  std::set<const BufferNode*> read, written;
};
Touched touched_by(const Core& core) {
  Touched touched;
  each_access(core, [&](const Buffer& buffer, const auto&, bool is_written) {
    (is_written ? touched.written : touched.read).insert(buffer.get());
  });
  return touched;
}

bool meet(const std::set<const BufferNode*>& a, const std::set<const BufferNode*>& b) {
  return std::ranges::any_of(a, [&](const BufferNode* buffer) { return b.contains(buffer); });
}

// A statement under a condition. Terms that do not change in the enclosing loops are combined into one outer condition:
// a condition that is the same for all threads and iterations is tested once.
Core with_condition_outside(const Core& core) {
  std::vector<const CoreLoop*> around;
  std::set<const VarNode*> vars;
  Core inner = core;
  while (const auto* loop = inner ? std::get_if<CoreLoop>(&inner->node) : nullptr) {
    around.push_back(loop);
    vars.insert(loop->var.get());
    inner = loop->body;
  }
  const auto* n = inner && !around.empty() ? std::get_if<CoreIf>(&inner->node) : nullptr;
  if (n == nullptr || n->else_body) return core;
  const PartedCondition parted = part_condition(n->condition, vars);
  if (!parted.outer) return core;
  Core body = parted.inner ? core_if(parted.inner, n->then_body) : n->then_body;
  for (auto loop = around.rbegin(); loop != around.rend(); ++loop) {
    CoreLoop copy = **loop;
    copy.body = std::move(body);
    body = make_core(std::move(copy));
  }
  return core_if(parted.outer, std::move(body));
}

class Pipeliner {
 public:
  Pipeliner(const Core& whole, ThreadKernel& kernel, Bounds& bounds, const std::string& where,
            const PipelineOptions& options)
      : whole_(whole), kernel_(kernel), bounds_(bounds), where_(where), options_(options) {}

  Core walk(const Core& core) {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      if (loop->kind == ForKind::pipelined) return pipelined(*loop);
      CoreLoop copy = *loop;
      copy.body = walk_inside(loop->body);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return core_if(n->condition, walk_inside(n->then_body), walk_inside(n->else_body));
    if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
      std::vector<Core> body;
      for (const Core& part : n->body) body.push_back(walk(part));
      return core_sequence(std::move(body));
    }
    return core;
  }

  Diagnostics errors;

 private:
  using Rings = std::map<const BufferNode*, Buffer>;

  // True for a statement that runs several times, or not always.
  Core walk_inside(const Core& core) {
    ++inside_;
    Core result = walk(core);
    --inside_;
    return result;
  }

  Core refuse(const CoreLoop& loop, std::string why, std::string hint) {
    errors.push_back({"cannot lower to threads", fmt::format("{}, pipelined loop {}", where_, loop.var->name),
                      std::move(why), std::move(hint)});
    return loop.body;
  }

  bool is_shared(const BufferNode* buffer) const {
    return std::ranges::any_of(kernel_.shared, [&](const Buffer& shared) { return shared.get() == buffer; });
  }

  // The number of leading statements that may run ahead.
  static std::size_t fetches_of(const std::vector<Core>& body, const Touched& all,
                                const std::function<bool(const BufferNode*)>& is_shared) {
    std::size_t count = 0;
    for (; count + 1 < body.size(); ++count) {
      if (has_synchronization(body[count])) break;
      const Touched touched = touched_by(body[count]);
      if (meet(touched.read, all.written) || !std::ranges::all_of(touched.written, is_shared)) break;
    }
    return count;
  }

  // The statement with ring buffers in place of buffers, at the given slot.
  Core in_ring(const Core& core, const Rings& rings, const Expr& place) const {
    return rewrite_accesses(core, {},
                            [&](const Buffer& touched, std::vector<Expr> indices,
                                const std::vector<AroundThread>&) -> std::pair<Buffer, std::vector<Expr>> {
                              const auto ring = rings.find(touched.get());
                              if (ring == rings.end()) return {touched, std::move(indices)};
                              indices.insert(indices.begin(), place);
                              return {ring->second, std::move(indices)};
                            });
  }

  // The statement as an asynchronous copy of as many bytes as possible; null: it is not a copy.
  Core as_copy(const Chain& chain) const {
    const StoreTarget& target = chain.store->targets[0];
    const auto moved = Moved::of(target.value);
    if (!moved || moved->load->buffer->dtype != target.buffer->dtype) return nullptr;
    const BufferNode* const from = moved->load->buffer.get();
    const std::int64_t bytes = size_bytes(target.buffer->dtype);
    if (touched_by(whole_).written.contains(from)) return nullptr;
    CoreAsyncCopy copy{target.buffer,     target.indices, moved->load->buffer, moved->load->indices, 1, {},
                       chain.store->block};
    std::size_t left_out = 0;
    const auto* const innermost = chain.around.empty() ? nullptr : std::get_if<CoreLoop>(&chain.around.back()->node);
    if (innermost != nullptr && innermost->kind != ForKind::thread && runs_along(copy, *innermost->var) &&
        (!moved->condition || !mentions(moved->condition, *innermost->var))) {
      const std::int64_t count =
          std::min(aligned_neighbors(*copy.to, offset_of(*copy.to, copy.to_indices, bounds_), innermost->var.get(),
                                     innermost->extent, kMostCopyBytes),
                   aligned_neighbors(*copy.from, offset_of(*copy.from, copy.from_indices, bounds_),
                                     innermost->var.get(), innermost->extent, kMostCopyBytes));
      if (count > 1) copy.elements = count, left_out = 1;
    }
    if (copy.elements * bytes < kLeastCopyBytes) return nullptr;
    Core result;
    if (moved->condition && !moved->is_zero_otherwise()) {
      std::vector<Core> fills;
      for (std::int64_t i = 0; i < copy.elements; ++i) {
        std::vector<Expr> indices = target.indices;
        Expr& moved_index = indices[run_dimension(target.buffer->shape)];
        moved_index = moved_index + i;
        fills.push_back(make_core(
            CoreStore{{{target.buffer, std::move(indices), moved->otherwise}}, chain.store->block, {}, false}));
      }
      result = core_if(moved->condition, make_core(copy), core_sequence(std::move(fills)));
    } else {
      copy.condition = moved->condition;
      result = make_core(copy);
    }
    if (left_out == 0) return chain.around_of(result);
    // The loop over elements keeps every `elements`-th iteration.
    CoreLoop vectors = *innermost;
    vectors.extent = innermost->extent / copy.elements;
    vectors.var = make_var(innermost->var->name);
    bounds_[vectors.var.get()] = {0, vectors.extent - 1};
    const Expr first = vectors.extent == 1 ? int_imm(0) : ref(vectors.var) * copy.elements;
    vectors.body = instantiate(result, {{innermost->var.get(), first}}, bounds_);
    return chain.around_of(vectors.extent == 1 ? vectors.body : make_core(std::move(vectors)), 1);
  }

  // Both elements move with the variable only in the dimension of neighbors.
  static bool runs_along(const CoreAsyncCopy& copy, const VarNode& var) {
    const auto alone = [&](const Buffer& buffer, const std::vector<Expr>& indices) {
      for (std::size_t d = 0; d < indices.size(); ++d)
        if (d != run_dimension(buffer->shape) && mentions(indices[d], var)) return false;
      return true;
    };
    return alone(copy.to, copy.to_indices) && alone(copy.from, copy.from_indices);
  }

  static bool mentions(const Expr& expr, const VarNode& var) {
    bool found = false;
    visit_exprs(expr, [&](const Expr& e) {
      const auto* n = std::get_if<VarRef>(&e->node);
      found |= n != nullptr && n->var.get() == &var;
    });
    return found;
  }

  // A value that a thread computes, kept in private memory.
  struct Staged {
    Core load, store;
  };
  Staged staged(const Chain& chain, const Buffer& kept) const {
    std::vector<Expr> place;
    for (const CoreLoop* loop : chain.own_loops()) place.push_back(ref(loop->var));
    if (place.empty()) place.push_back(int_imm(0));
    const StoreTarget& target = chain.store->targets[0];
    const std::string& block = chain.store->block;
    return {chain.around_of(make_core(CoreStore{{{kept, place, target.value}}, block, {}, false})),
            instantiate(chain.around_of(make_core(
                            CoreStore{{{target.buffer, target.indices, load(kept, place)}}, block, {}, false})),
                        {}, bounds_)};
  }
  static Buffer kept_by(const Chain& chain) {
    Shape shape;
    for (const CoreLoop* loop : chain.own_loops()) shape.push_back(loop->extent);
    if (shape.empty()) shape.push_back(1);
    const Buffer& target = chain.store->targets[0].buffer;
    return make_buffer(target->name + ".next", target->dtype, shape, "register");
  }

  Core pipelined(const CoreLoop& loop) {
    const auto stages = stages_of(loop.annotations);
    const auto* sequence = std::get_if<CoreSequence>(&loop.body->node);
    if (!stages || sequence == nullptr || loop.extent < *stages)
      return refuse(loop, "the loop has fewer than two statements, or fewer iterations than stages",
                    "give fewer stages");
    const std::vector<Core>& body = sequence->body;
    const Touched all = touched_by(loop.body);
    const std::size_t count = fetches_of(body, all, [&](const BufferNode* buffer) { return is_shared(buffer); });
    if (count == 0)
      return refuse(loop, "the loop's first statement does not fill a buffer that the threads of a block share",
                    "compute_at the fetched buffer into it, set_scope it to shared, and bind its loops to threads");
    Rings rings;
    for (std::size_t i = 0; i < count; ++i)
      for (const BufferNode* buffer : touched_by(body[i]).written) {
        if (uses(whole_, buffer) != uses(loop.body, buffer))
          return refuse(loop, fmt::format("{} is also used outside the loop", buffer->name),
                        "compute_at all uses into the loop");
        make_ring(buffer, *stages, rings);
      }
    std::vector<Core> uses_of_piece;
    for (std::size_t i = count; i < body.size(); ++i) uses_of_piece.push_back(with_condition_outside(body[i]));
    const Core use = core_sequence(std::move(uses_of_piece));

    Signals signals = signals_of(loop, body, count, rings, *stages);
    // The number of iterations whose calls are still in flight when the next iteration begins. Threads that fill slots
    // themselves wait for each other once per iteration, before its calls; a unit that fills them is started after the
    // calls, when those of the preceding iteration are done.
    const bool by_units = signals.boxes.size() == count;
    const std::int64_t fewest_stages = by_units ? 2 : 3;
    const std::optional<Core> lagging = *stages >= fewest_stages ? with_calls_under_way(use) : std::nullopt;
    const std::int64_t lag = lagging ? 1 : 0;
    const bool fetches_behind = lagging && by_units;
    const std::int64_t ahead = *stages - 1 - (fetches_behind ? 0 : lag);
    bool asynchronous = false;
    std::vector<Core> issue, store;                                         // for one piece
    std::vector<std::vector<Core>> begin(static_cast<std::size_t>(ahead));  // for the iterations before the first one
    const Expr piece = ref(loop.var) + ahead;
    for (std::size_t i = 0; i < count; ++i) {
      if (const auto box = signals.boxes.find(i); box != signals.boxes.end()) {
        issue.push_back(in_piece(box->second, loop, piece));
        for (std::int64_t p = 0; p < ahead; ++p)
          begin[static_cast<std::size_t>(p)].push_back(in_piece(box->second, loop, int_imm(p)));
        continue;
      }
      const Core later =
          in_ring(instantiate(body[i], {{loop.var.get(), piece}}, bounds_), rings, floor_mod(piece, *stages));
      const auto chain = Chain::of(later);
      if (!chain)
        return refuse(loop, "a statement that runs iterations ahead computes more than one value at a time",
                      "inline the statement's operands, or do not pipeline the loop");
      const Core copy = options_.asynchronous ? as_copy(*chain) : nullptr;
      for (std::int64_t p = 0; p < ahead; ++p) {
        const Expr number = int_imm(p);
        const Core early = in_ring(instantiate(body[i], {{loop.var.get(), number}}, bounds_), rings, number);
        const auto early_chain = copy ? Chain::of(early) : std::nullopt;
        const Core early_copy = early_chain ? as_copy(*early_chain) : nullptr;
        begin[static_cast<std::size_t>(p)].push_back(early_copy ? early_copy : early);
      }
      if (copy) {
        asynchronous = true;
        issue.push_back(copy);
        continue;
      }
      const Buffer kept = kept_by(*chain);
      if (element_count(kept->shape) * size_bytes(kept->dtype) > options_.local_bytes)
        return refuse(loop,
                      fmt::format("a thread would keep {} bytes of {} for the next iteration, but may have at most {}",
                                  element_count(kept->shape) * size_bytes(kept->dtype),
                                  chain->store->targets[0].buffer->name, options_.local_bytes),
                      "bind the loops of the buffer to more threads");
      kernel_.local.push_back(kept);
      const Staged parts = staged(*chain, kept);
      issue.push_back(parts.load);
      store.push_back(parts.store);
    }
    const auto wait_for_calls = [](std::int64_t groups) {
      return make_core(CoreCallGroup{CoreCallGroup::Step::wait, groups});
    };
    using Step = CoreAsyncGroup::Step;
    const Core commit = asynchronous ? make_core(CoreAsyncGroup{Step::commit, 0}) : nullptr;
    const Core wait = asynchronous ? make_core(CoreAsyncGroup{Step::wait, ahead - 1}) : nullptr;
    const Expr there = binary(BinaryOp::lt, ref(loop.var), int_imm(loop.extent - ahead));
    std::vector<Core> result;
    if (signals.buffer) {
      issue.insert(issue.begin(), signals.step(CoreSignal::Step::expect, piece, *stages));
      for (std::int64_t p = 0; p < *stages; ++p)
        result.push_back(signals.step(CoreSignal::Step::start, int_imm(p), *stages));
    }
    for (std::int64_t p = 0; p < ahead; ++p) {
      if (signals.buffer) result.push_back(signals.step(CoreSignal::Step::expect, int_imm(p), *stages));
      const std::vector<Core>& one = begin[static_cast<std::size_t>(p)];
      result.insert(result.end(), one.begin(), one.end());
      result.push_back(commit);
    }
    const Core landed = signals.buffer ? signals.step(CoreSignal::Step::wait, ref(loop.var), *stages) : nullptr;
    CoreLoop steady = loop;
    steady.kind = ForKind::serial;
    steady.annotations.erase(kStages);
    std::vector<Core> fetch{lag == 0 ? nullptr : wait_for_calls(lag), core_if(there, core_sequence(std::move(issue))),
                            commit};
    std::vector<Core> steps{landed, wait,
                            in_ring(walk(lagging.value_or(use)), rings, floor_mod(ref(loop.var), *stages))};
    steps.insert(fetches_behind ? steps.end() : steps.end() - 1, fetch.begin(), fetch.end());
    if (!store.empty()) steps.push_back(core_if(there, core_sequence(std::move(store))));
    steady.body = core_sequence(std::move(steps));
    result.push_back(make_core(std::move(steady)));
    if (lag > 0) result.push_back(wait_for_calls(0));
    return core_sequence(std::move(result));
  }

  // The boxes that fetches copy, as functions of the iteration; and the buffer of signals that count their bytes.
  struct Signals {
    Buffer buffer;  // null: no boxes
    std::map<std::size_t, CoreBoxCopy> boxes;
    std::int64_t bytes = 0;  // bytes of a piece

    // The copies for the iteration with that number.
    Core step(CoreSignal::Step step, const Expr& piece, std::int64_t stages) const {
      CoreSignal made{step, buffer, simplify(floor_mod(piece, stages), {}), 0, nullptr};
      if (step == CoreSignal::Step::expect) made.bytes = bytes;
      if (step == CoreSignal::Step::wait) made.parity = floor_mod(floor_div(piece, stages), 2);
      return make_core(std::move(made));
    }
  };
  Signals signals_of(const CoreLoop& loop, const std::vector<Core>& body, std::size_t count, const Rings& rings,
                     std::int64_t stages) {
    Signals made;
    if (!options_.boxes || inside_ > 0) return made;
    for (std::size_t i = 0; i < count; ++i) {
      const auto chain = Chain::of(in_ring(body[i], rings, floor_mod(ref(loop.var), stages)));
      auto box = chain ? as_box_copy(*chain, bounds_, *options_.boxes) : std::nullopt;
      const Touched touched = touched_by(body[i]);
      if (!box || !is_of_calls(*touched.written.begin()) || touched_by(whole_).written.contains(box->from.get()))
        continue;
      made.bytes += bytes_of_box(*box);
      made.boxes.emplace(i, *std::move(box));
    }
    if (made.boxes.empty()) return made;
    made.buffer = make_buffer(loop.var->name + ".landed", kSignalType, {stages}, "shared");
    kernel_.shared.push_back(made.buffer);
    for (auto& [number, box] : made.boxes) box.signals = made.buffer, box.signal = floor_mod(ref(loop.var), stages);
    return made;
  }

  Core in_piece(const CoreBoxCopy& box, const CoreLoop& loop, const Expr& piece) const {
    return instantiate(make_core(box), {{loop.var.get(), piece}}, bounds_);
  }

  // Whether the buffer is written once, and read only by hardware units.
  bool is_of_calls(const BufferNode* buffer) const {
    int by_units = 0;
    each_call(whole_, [&](const CoreCall& call) {
      for (std::size_t i = 1; call.later && i < call.operands.size(); ++i)
        by_units += call.operands[i].buffer.get() == buffer ? 1 : 0;
    });
    return uses(whole_, buffer) == by_units + 1;
  }

  static int uses(const Core& core, const BufferNode* buffer) {
    int count = 0;
    each_access(core, [&](const Buffer& touched, const auto&, bool) { count += touched.get() == buffer ? 1 : 0; });
    return count;
  }

  void make_ring(const BufferNode* buffer, std::int64_t stages, Rings& rings) {
    if (rings.contains(buffer)) return;
    Shape shape = buffer->shape;
    shape.insert(shape.begin(), stages);
    const Buffer ring = make_buffer(buffer->name, buffer->dtype, std::move(shape), buffer->scope);
    std::ranges::find_if(kernel_.shared, [&](const Buffer& shared) { return shared.get() == buffer; })[0] = ring;
    rings.emplace(buffer, ring);
  }

  const Core& whole_;
  ThreadKernel& kernel_;
  Bounds& bounds_;
  const std::string& where_;
  const PipelineOptions& options_;
  int inside_ = 0;  // number of enclosing loops and conditions
};

}  // namespace

Result<Core> pipeline_copies(const Core& body, ThreadKernel& kernel, Bounds& bounds, const std::string& where,
                             const PipelineOptions& options) {
  Pipeliner pipeliner(body, kernel, bounds, where, options);
  Core result = pipeliner.walk(body);
  if (!pipeliner.errors.empty()) return std::move(pipeliner.errors);
  return result;
}

}  // namespace dovetail::loops
