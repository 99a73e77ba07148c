#include "loops/threads/lower_to_threads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "loops/core/instantiate.h"
#include "loops/core/peel.h"
#include "loops/linear.h"
#include "loops/rewrite.h"
#include "loops/threads/accesses.h"
#include "loops/threads/combine_threads.h"
#include "loops/threads/complete_calls.h"
#include "loops/threads/insert_barriers.h"
#include "loops/threads/pipeline_copies.h"
#include "loops/threads/replicated.h"
#include "loops/threads/rewrite_accesses.h"
#include "loops/threads/spread_calls.h"
#include "loops/threads/swizzle_matrices.h"
#include "loops/threads/thread_regions.h"

namespace dovetail::loops {

namespace {

constexpr std::string_view kWhat = "cannot lower to threads";
constexpr std::int64_t kMostJoinedBytes = 4096;

std::int64_t bytes_of(const BufferNode& buffer) { return element_count(buffer.shape) * size_bytes(buffer.dtype); }

// A top-level nest: the loops bound to block axes are removed.
struct Nest {
  std::string name;
  std::vector<BoundAxis> axes;
  Core body;
};

void visit_loops(const Core& core, const std::function<void(const CoreLoop&)>& visit) {
  if (!core) return;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    visit(*loop);
    visit_loops(loop->body, visit);
  } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
    visit_loops(condition->then_body, visit);
    visit_loops(condition->else_body, visit);
  } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) visit_loops(part, visit);
  }
}

std::string last_block(const Core& core) {
  if (!core) return "";
  if (const auto* store = std::get_if<CoreStore>(&core->node)) return store->block;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return last_block(loop->body);
  if (const auto* condition = std::get_if<CoreIf>(&core->node)) return last_block(condition->then_body);
  const auto* sequence = std::get_if<CoreSequence>(&core->node);
  return sequence == nullptr || sequence->body.empty() ? "" : last_block(sequence->body.back());
}

Nest take_apart(const Core& core, Bounds& bounds) {
  Nest nest{last_block(core), {}, core};
  const CoreLoop* loop = std::get_if<CoreLoop>(&core->node);
  for (; loop != nullptr && loop->kind == ForKind::thread && loop->thread_axis.starts_with("block.");
       loop = std::get_if<CoreLoop>(&nest.body->node)) {
    nest.axes.push_back({loop->thread_axis, loop->var, loop->extent});
    nest.body = loop->body;
  }
  visit_loops(nest.body, [&](const CoreLoop& inner) {
    if (inner.kind != ForKind::thread) return;
    DOVETAIL_CHECK(!inner.thread_axis.starts_with("block."), "loops bound to block axes must be the outermost ones");
    if (std::ranges::find(nest.axes, inner.thread_axis, &BoundAxis::axis) != nest.axes.end()) return;
    nest.axes.push_back({inner.thread_axis, make_var(inner.thread_axis), inner.extent});
    bounds[nest.axes.back().var.get()] = {0, inner.extent - 1};
  });
  return nest;
}

class Lowering {
 public:
  Lowering(CoreProgram core, std::string name, const ThreadLimits& limits)
      : core_(std::move(core)), name_(std::move(name)), limits_(limits) {}

  Result<ThreadProgram> run() {
    DOVETAIL_ASSIGN(core_.body, spread_calls(core_.body, *limits_.operations, core_.bounds, name_));
    if (core_.body) {
      const auto* sequence = std::get_if<CoreSequence>(&core_.body->node);
      for (const Core& part : joined(sequence != nullptr ? sequence->body : std::vector<Core>{core_.body}))
        nests_.push_back(take_apart(part, core_.bounds));
    }
    result_.kernels.resize(nests_.size());
    own_.resize(nests_.size());
    for (std::size_t i = 0; i < nests_.size(); ++i) DOVETAIL_TRY(combine(nests_[i], i));
    place_buffers();
    for (std::size_t i = 0; i < nests_.size(); ++i) DOVETAIL_TRY(lower(nests_[i], i));
    if (!limits_.slots.empty())
      return Diagnostic{std::string(kWhat), fmt::format("{}, buffer {}", name_, limits_.slots.begin()->first),
                        "the buffer has slots, but the threads of a block do not share it",
                        "remove the step `slots`, or bind the loops that fill and use the buffer to threads"};
    result_.bounds = std::move(core_.bounds);
    result_.operations = limits_.operations;
    return std::move(result_);
  }

 private:
  std::string where(const Nest& nest) const { return fmt::format("{}, kernel {}", name_, nest.name); }

  // Neighboring nests of one block, at most one of which has several threads, are merged into a kernel, in which one
  // thread runs the others. They are not merged if they pass more data to each other than fits in a thread's memory.
  std::vector<Core> joined(const std::vector<Core>& parts) const {
    struct Group {
      std::vector<Core> body;
      bool one_block = true, threads = false;
      std::set<Buffer> temporary;
    };
    std::vector<Group> groups;
    for (const Core& part : parts) {
      Group next{{part}, true, has_thread_loops(part), {}};
      visit_loops(part, [&](const CoreLoop& loop) { next.one_block &= !loop.thread_axis.starts_with("block."); });
      each_access(part, [&](const Buffer& buffer, const auto&, bool) {
        if (std::ranges::find(core_.temporary, buffer) != core_.temporary.end()) next.temporary.insert(buffer);
      });
      if (!groups.empty() && groups.back().one_block && next.one_block && !(groups.back().threads && next.threads)) {
        next.temporary.insert(groups.back().temporary.begin(), groups.back().temporary.end());
        std::int64_t bytes = 0;
        for (const Buffer& buffer : next.temporary) bytes += bytes_of(*buffer);
        if (bytes <= kMostJoinedBytes) {
          groups.back().body.push_back(part);
          groups.back().threads |= next.threads;
          groups.back().temporary = std::move(next.temporary);
          continue;
        }
      }
      groups.push_back(std::move(next));
    }
    std::vector<Core> result;
    for (Group& group : groups) result.push_back(core_sequence(std::move(group.body)));
    return result;
  }

  Result<void> combine(Nest& nest, std::size_t index) {
    DOVETAIL_ASSIGN(CombinedThreads combined, combine_threads(nest.body, nest.axes, core_.bounds, where(nest)));
    nest.body = std::move(combined.body);
    result_.kernels[index].local = std::move(combined.own);
    result_.kernels[index].shared = std::move(combined.shared);
    for (const Buffer& buffer : result_.kernels[index].local) own_[index].replicated.insert(buffer.get());
    own_[index].axes = static_cast<std::size_t>(
        std::ranges::count_if(nest.axes, [](const BoundAxis& axis) { return !axis.is_block(); }));
    return {};
  }

  void place_buffers() {
    std::map<const BufferNode*, std::set<std::size_t>> used;
    for (std::size_t i = 0; i < nests_.size(); ++i)
      each_access(nests_[i].body, [&](const Buffer& buffer, const auto&, bool) { used[buffer.get()].insert(i); });
    std::vector<std::vector<Buffer>> of_kernel(nests_.size());
    for (const Buffer& buffer : core_.temporary) {
      const auto kernels = used.find(buffer.get());
      if (kernels == used.end()) continue;
      if (kernels->second.size() > 1) result_.workspace.push_back(buffer);
      else of_kernel[*kernels->second.begin()].push_back(buffer);
    }
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      std::vector<Buffer> temporary = of_kernel[i];
      const ThreadKernel& kernel = result_.kernels[i];
      temporary.insert(temporary.end(), kernel.local.begin(), kernel.local.end());
      const auto replicated =
          replicated_buffers(thread_regions_of(nests_[i].body), temporary, nests_[i].axes, core_.bounds);
      for (const Buffer& buffer : of_kernel[i]) place(buffer, i, replicated.contains(buffer.get()));
    }
  }

  void place(const Buffer& buffer, std::size_t index, bool replicated) {
    Nest& nest = nests_[index];
    ThreadKernel& kernel = result_.kernels[index];
    const std::vector<ThreadRegion> regions = thread_regions_of(nest.body);
    std::vector<Use> uses;
    std::set<const ThreadRegion*> used_in;
    bool own_elements = true;  // no index depends on the thread
    for (const ThreadRegion& region : regions)
      each_access(region.body, [&](const Buffer& touched, const std::vector<Expr>& indices, bool written) {
        if (touched != buffer) return;
        uses.push_back({indices, &region, written});
        used_in.insert(&region);
        for (const Expr& e : indices)
          visit_exprs(e, [&](const Expr& inner) {
            const auto* n = std::get_if<VarRef>(&inner->node);
            for (const AroundThread& thread : region.around) own_elements &= n == nullptr || n->var.get() != thread.var;
          });
      });
    std::size_t all = 0;  // a condition that all threads evaluate is not in a region
    each_access(nest.body, [&](const Buffer& touched, const auto&, bool) { all += touched == buffer ? 1 : 0; });
    if (all != uses.size()) {
      kernel.shared.push_back(buffer);
      return;
    }
    if (nest.axes.empty() && bytes_of(*buffer) > limits_.local_bytes) {
      result_.workspace.push_back(buffer);  // private to one thread
      return;
    }
    // A thread's iteration reads only elements that it wrote itself, as proven when its loop was bound, each time that
    // the region runs.
    if (used_in.size() == 1 && (!(*used_in.begin())->repeated || own_elements)) {
      kernel.local.push_back(buffer);
      return;
    }
    const std::size_t axes = uses.front().region->around.size();
    const bool in_all_axes =
        std::ranges::all_of(uses, [&](const Use& use) { return use.region->around.size() == axes; });
    if (in_all_axes || replicated)
      if (const Buffer own = own_part(nest, buffer, std::move(uses))) {
        kernel.local.push_back(own);
        if (replicated) own_[index].replicated.insert(own.get());
        return;
      }
    kernel.shared.push_back(buffer);
  }

  // The part of the buffer that each thread owns, which the nest then uses; null if threads share the buffer. Elements
  // that are not contiguous in any dimension may be contiguous overall: rows of several dimensions, split after they
  // were fused.
  Buffer own_part(Nest& nest, const Buffer& buffer, std::vector<Use> uses) {
    if (const auto owners = owners_of(*buffer, uses, nest.axes, core_.bounds)) return privatize(nest, buffer, *owners);
    if (buffer->shape.size() < 2) return nullptr;
    const Buffer flat = make_buffer(buffer->name, buffer->dtype, {element_count(buffer->shape)}, buffer->scope);
    const auto flattened = [&](const std::vector<Expr>& indices) {
      Expr offset = int_imm(0);
      for (std::size_t d = 0; d < indices.size(); ++d) offset = offset * buffer->shape[d] + indices[d];
      return std::vector<Expr>{simplify(offset, core_.bounds)};
    };
    for (Use& use : uses) use.indices = flattened(use.indices);
    const auto owners = owners_of(*flat, uses, nest.axes, core_.bounds);
    if (!owners) return nullptr;
    nest.body = rewrite_accesses(
        nest.body, {},
        [&](const Buffer& touched, std::vector<Expr> indices, const auto&) -> std::pair<Buffer, std::vector<Expr>> {
          if (touched != buffer) return {touched, std::move(indices)};
          return {flat, flattened(indices)};
        });
    return privatize(nest, flat, *owners);
  }

  // Each thread keeps only its own elements.
  Buffer privatize(Nest& nest, const Buffer& buffer, const Owners& owners) {
    Shape shape = buffer->shape;
    for (const auto& [dimension, owner] : owners) shape[dimension] = owner.elements;
    const Buffer own = make_buffer(buffer->name, buffer->dtype, shape, buffer->scope);
    nest.body = rewrite_accesses(
        nest.body, {},
        [&](const Buffer& touched, std::vector<Expr> indices,
            const std::vector<AroundThread>& around) -> std::pair<Buffer, std::vector<Expr>> {
          if (touched != buffer) return {touched, std::move(indices)};
          for (const auto& [dimension, owner] : owners)
            indices[dimension] = owner_of(indices[dimension], buffer->shape[dimension], around, core_.bounds)->own;
          return {own, std::move(indices)};
        });
    return own;
  }

  Result<void> lower(const Nest& nest, std::size_t index) {
    ThreadKernel& kernel = result_.kernels[index];
    kernel.name = nest.name;
    kernel.axes = nest.axes;
    kernel.calls = has_calls(nest.body);
    if (kernel.calls && (kernel.extent("thread.x") != kLanesInX || kernel.extent("thread.y") != kLanesInY))
      return Diagnostic{
          std::string(kWhat), where(nest),
          fmt::format("the kernel's blocks have {} by {} threads in x and y, but warp operations need {} by {}",
                      kernel.extent("thread.x"), kernel.extent("thread.y"), kLanesInX, kLanesInY),
          "bind warps to thread.z"};
    if (has_later_calls(nest.body) && kernel.extent("thread.z") % kWarpsOfGroup != 0)
      return Diagnostic{
          std::string(kWhat), where(nest),
          fmt::format("the kernel's blocks have {} warps, but operations of warp groups need multiples of {}",
                      kernel.extent("thread.z"), kWarpsOfGroup),
          "bind the warps of a group to thread.z"};
    DOVETAIL_ASSIGN(const Core placed, give_slots(complete_calls(nest.body), kernel, limits_.slots, where(nest)));
    DOVETAIL_ASSIGN(const Core piped, pipeline_copies(placed, kernel, core_.bounds, where(nest), limits_.pipeline));
    OwnBuffers& own = own_[index];
    for (const Buffer& buffer : kernel.local) own.all.insert(buffer.get());
    own.warp_axes = warp_axes_of(kernel);
    DOVETAIL_ASSIGN(const Core synchronized, insert_barriers(piped, own, core_.bounds, where(nest)));
    kernel.body = with_coordinates(synchronized, nest, own, {}, {});
    DOVETAIL_TRY(swizzle_matrices(kernel, *limits_.operations, core_.bounds, where(nest),
                                  limits_.pipeline.boxes.value_or(BoxCopies{})));
    return check_sizes(nest, kernel);
  }

  static std::set<std::string> warp_axes_of(const ThreadKernel& kernel) {
    std::set<std::string> others;
    std::int64_t threads = 1;
    for (const char* axis : {"thread.x", "thread.y", "thread.z"})
      if (threads == kWarpLanes) others.insert(axis);
      else threads *= kernel.extent(axis);
    std::erase_if(others, [&](const std::string& axis) { return kernel.extent(axis) == 1; });
    return threads == kWarpLanes ? others : std::set<std::string>();
  }

  Result<void> check_sizes(const Nest& nest, const ThreadKernel& kernel) const {
    const std::int64_t shared = kernel.shared_places().bytes;
    std::int64_t local = 0;
    for (const Buffer& buffer : kernel.local) local += bytes_of(*buffer);
    Diagnostics errors;
    if (shared > limits_.shared_bytes)
      errors.push_back(
          {std::string(kWhat), where(nest),
           fmt::format("the kernel needs {} bytes of shared memory, but a block has {}", shared, limits_.shared_bytes),
           "compute_at with smaller tiles, or move the buffers to a separate kernel"});
    if (local > limits_.local_bytes)
      errors.push_back({std::string(kWhat), where(nest),
                        fmt::format("each thread needs {} bytes of local memory, but may have at most {}", local,
                                    limits_.local_bytes),
                        "compute_at with smaller tiles, or move the buffers to a separate kernel"});
    return errors;
  }

  // Replaces loops bound to threads by coordinates.
  Core with_coordinates(const Core& core, const Nest& nest, const OwnBuffers& own, VarMap vars,
                        std::set<std::string> bound) {
    if (!core || is_synchronization(core)) return core;
    if (!has_thread_loops(core) && !has_synchronization(core)) {
      Expr first;
      for (const BoundAxis& axis : nest.axes) {
        if (axis.is_block() || bound.contains(axis.axis)) continue;
        const Expr zero = binary(BinaryOp::eq, ref(axis.var), int_imm(0));
        first = first ? logical_and(first, zero) : zero;
      }
      // Conditions that are true in most iterations of a loop are not hoisted.
      const CoreProgram peeled = peel_tails({instantiate(core, vars, core_.bounds), core_.bounds, {}});
      core_.bounds.insert(peeled.bounds.begin(), peeled.bounds.end());
      return done_once(peeled.body, first, own);
    }
    const auto inside = [&](const Core& inner) { return with_coordinates(inner, nest, own, vars, bound); };
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      if (loop->kind == ForKind::thread) {
        vars[loop->var.get()] = ref(std::ranges::find(nest.axes, loop->thread_axis, &BoundAxis::axis)->var);
        bound.insert(loop->thread_axis);
        return inside(loop->body);
      }
      CoreLoop result = *loop;
      result.body = inside(loop->body);
      return make_core(std::move(result));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return core_if(substitute(n->condition, vars), inside(n->then_body), inside(n->else_body));
    // Consecutive statements of one thread share one condition.
    std::vector<Core> body, alone;
    const auto finish = [&] { body.push_back(inside(core_sequence(std::exchange(alone, {})))); };
    for (const Core& part : std::get<CoreSequence>(core->node).body) {
      if (!has_thread_loops(part) && !has_synchronization(part)) {
        alone.push_back(part);
        continue;
      }
      finish();
      body.push_back(inside(part));
    }
    finish();
    return core_sequence(std::move(body));
  }

  // A region that one thread runs, except for statements that each thread computes for itself. `first`: the condition
  // that is true in that thread only.
  static Core done_once(const Core& region, const Expr& first, const OwnBuffers& own) {
    bool replicates = false;
    each_access(region, [&](const Buffer& buffer, const auto&, bool written) {
      replicates |= written && own.replicated.contains(buffer.get());
    });
    return first && replicates ? guarded(region, first, own) : core_if(first, region);
  }
  static Core guarded(const Core& core, const Expr& first, const OwnBuffers& own) {
    if (!core) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      CoreLoop copy = *loop;
      copy.body = guarded(loop->body, first, own);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node))
      return core_if(n->condition, guarded(n->then_body, first, own), guarded(n->else_body, first, own));
    if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
      std::vector<Core> body;
      for (const Core& part : n->body) body.push_back(guarded(part, first, own));
      return core_sequence(std::move(body));
    }
    bool by_each = true;
    each_access(core, [&](const Buffer& buffer, const auto&, bool written) {
      by_each &= !written || own.all.contains(buffer.get());
    });
    return by_each ? core : core_if(first, core);
  }

  CoreProgram core_;
  std::string name_;
  ThreadLimits limits_;
  std::vector<Nest> nests_;
  std::vector<OwnBuffers> own_;  // one entry per nest
  ThreadProgram result_;
};

}  // namespace

Result<ThreadProgram> lower_to_threads(CoreProgram core, const std::string& name, const ThreadLimits& limits) {
  return Lowering(std::move(core), name, limits).run();
}

}  // namespace dovetail::loops
