#include "loops/threads/replicated.h"

#include <algorithm>
#include <functional>

#include "loops/rewrite.h"

namespace dovetail::loops {

namespace {

// The variable of the enclosing loop that is bound to the axis; null: none.
const VarNode* loop_on(const ThreadRegion& region, const std::string& axis) {
  const auto found = std::ranges::find(region.around, axis, &AroundThread::axis);
  return found == region.around.end() ? nullptr : found->var;
}

bool mentions_axis(const Expr& index, const ThreadRegion& region, const std::string& axis) {
  bool found = false;
  visit_exprs(index, [&](const Expr& e) {
    const auto* n = std::get_if<VarRef>(&e->node);
    for (const AroundThread& thread : region.around)
      found |= n != nullptr && n->var.get() == thread.var && thread.axis == axis;
  });
  return found;
}

void each_store(const Core& core, const std::function<void(const std::vector<const BufferNode*>& written)>& visit) {
  if (!core) return;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
    each_store(loop->body, visit);
  } else if (const auto* condition = std::get_if<CoreIf>(&core->node)) {
    each_store(condition->then_body, visit);
    each_store(condition->else_body, visit);
  } else if (const auto* sequence = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& part : sequence->body) each_store(part, visit);
  } else {
    std::vector<const BufferNode*> written;
    each_access(core, [&](const Buffer& buffer, const auto&, bool is_written) {
      if (is_written) written.push_back(buffer.get());
    });
    if (!written.empty()) visit(written);
  }
}

// The elements that a thread owns.
std::int64_t elements_of(const BufferNode& buffer, const Owners& owners) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    const auto owner = owners.find(d);
    elements *= owner == owners.end() ? buffer.shape[d] : owner->second.elements;
  }
  return elements;
}

}  // namespace

std::optional<Owners> owners_of(const BufferNode& buffer, const std::vector<Use>& uses,
                                const std::vector<BoundAxis>& axes, const Bounds& bounds) {
  Owners owners;
  for (const BoundAxis& axis : axes) {
    if (axis.is_block()) continue;
    const auto inside = [&](const Use& use) { return loop_on(*use.region, axis.axis) != nullptr; };
    const bool replicated = std::ranges::none_of(uses, [&](const Use& use) {
      return (use.written && inside(use)) || std::ranges::any_of(use.indices, [&](const Expr& index) {
               return mentions_axis(index, *use.region, axis.axis);
             });
    });
    if (replicated) continue;
    // For a single loop over its threads: an iteration reads only elements that it wrote itself, as proven when binding
    // the loop.
    const VarNode* const loop = loop_on(*uses.front().region, axis.axis);
    const bool of_iteration =
        loop != nullptr && std::ranges::all_of(uses, [&](const Use& use) {
          return loop_on(*use.region, axis.axis) == loop && std::ranges::none_of(use.indices, [&](const Expr& index) {
                   return mentions_axis(index, *use.region, axis.axis);
                 });
        });
    if (of_iteration) continue;
    std::optional<std::size_t> owned;
    for (std::size_t d = 0; d < buffer.shape.size() && !owned; ++d) {
      std::optional<Owner> form;
      const bool same = std::ranges::all_of(uses, [&](const Use& use) {
        const auto owner = owner_of(use.indices[d], buffer.shape[d], use.region->around, bounds);
        if (!owner || owner->axis != axis.axis || (form && !form->same_form(*owner))) return false;
        form = owner;
        return true;
      });
      if (same) owned = d, owners.emplace(d, *form);
    }
    if (!owned) return std::nullopt;
  }
  // Nothing else may differ between threads.
  for (const Use& use : uses)
    for (std::size_t d = 0; d < use.indices.size(); ++d)
      if (!owners.contains(d) && std::ranges::any_of(axes, [&](const BoundAxis& axis) {
            return mentions_axis(use.indices[d], *use.region, axis.axis);
          }))
        return std::nullopt;
  return owners;
}

std::set<const BufferNode*> replicated_buffers(const std::vector<ThreadRegion>& regions,
                                               const std::vector<Buffer>& temporary, const std::vector<BoundAxis>& axes,
                                               const Bounds& bounds) {
  std::map<const BufferNode*, std::vector<Use>> uses;
  for (const ThreadRegion& region : regions)
    each_access(region.body, [&](const Buffer& buffer, const std::vector<Expr>& indices, bool written) {
      uses[buffer.get()].push_back({indices, &region, written});
    });
  std::set<const BufferNode*> chosen;
  for (const Buffer& buffer : temporary) {
    const auto of = uses.find(buffer.get());
    if (of == uses.end()) continue;
    const auto owners = owners_of(*buffer, of->second, axes, bounds);
    if (owners && elements_of(*buffer, *owners) <= kMostReplicated) chosen.insert(buffer.get());
  }
  const auto thread_axes =
      static_cast<std::size_t>(std::ranges::count_if(axes, [](const BoundAxis& axis) { return !axis.is_block(); }));
  // If a region's statements cannot all be separated from it, none of its buffers is replicated.
  for (bool changed = true; changed;) {
    changed = false;
    for (const ThreadRegion& region : regions) {
      if (region.around.size() == thread_axes) continue;
      std::set<const BufferNode*> read, written;
      each_access(region.body, [&](const Buffer& buffer, const auto&, bool is_written) {
        if (!chosen.contains(buffer.get())) (is_written ? written : read).insert(buffer.get());
      });
      bool apart = std::ranges::none_of(written, [&](const BufferNode* buffer) { return read.contains(buffer); });
      each_store(region.body, [&](const std::vector<const BufferNode*>& targets) {
        const auto own = std::ranges::count_if(targets, [&](const BufferNode* b) { return chosen.contains(b); });
        apart &= own == 0 || own == std::ssize(targets);
      });
      if (apart) continue;
      each_access(region.body, [&](const Buffer& buffer, const auto&, bool is_written) {
        if (is_written) changed |= chosen.erase(buffer.get()) != 0;
      });
    }
  }
  return chosen;
}

}  // namespace dovetail::loops
