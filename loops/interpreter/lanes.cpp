#include "loops/interpreter/lanes.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "loops/interpreter/access.h"
#include "loops/interpreter/kernels.h"
#include "loops/rewrite.h"

namespace dovetail::loops {
namespace {

bool is_trimmed(const CoreLoop& loop) { return loop.first || loop.end; }

bool has_loops(const Core& core) {
  if (!core) return false;
  if (std::holds_alternative<CoreLoop>(core->node) || std::holds_alternative<CoreForget>(core->node) ||
      std::holds_alternative<CoreBarrier>(core->node))
    return true;
  if (const auto* n = std::get_if<CoreIf>(&core->node)) return has_loops(n->then_body) || has_loops(n->else_body);
  const auto* n = std::get_if<CoreSequence>(&core->node);
  return n != nullptr && std::any_of(n->body.begin(), n->body.end(), has_loops);
}

struct LaneAccess {
  const Buffer* buffer;
  const std::vector<Expr>* indices;
  const CoreStore* store;  // null: a load
};

void collect_loads(const Expr& expr, std::vector<LaneAccess>& accesses) {
  visit_exprs(expr, [&](const Expr& e) {
    if (const auto* n = std::get_if<LoadExpr>(&e->node)) accesses.push_back({&n->buffer, &n->indices, nullptr});
  });
}

void collect(const Core& core, std::vector<LaneAccess>& accesses) {
  if (!core) return;
  if (const auto* n = std::get_if<CoreIf>(&core->node)) {
    collect_loads(n->condition, accesses);
    collect(n->then_body, accesses);
    collect(n->else_body, accesses);
  } else if (const auto* s = std::get_if<CoreSequence>(&core->node)) {
    for (const Core& inner : s->body) collect(inner, accesses);
  } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
    for (const StoreTarget& target : store->targets) {
      for (const Expr& index : target.indices) collect_loads(index, accesses);
      collect_loads(target.value, accesses);
      accesses.push_back({&target.buffer, &target.indices, store});
    }
  }
}

// Different lanes access different elements: each coefficient exceeds the largest sum of the smaller ones.
bool injective(const Affine& flat, const LaneSpace& space) {
  std::vector<std::pair<std::int64_t, std::int64_t>> digits;
  for (const CoreLoop* loop : space.loops) {
    const auto found = flat.coefficients.find(loop->var.get());
    if (found == flat.coefficients.end()) return false;
    digits.emplace_back(std::abs(found->second), loop->extent);
  }
  std::sort(digits.begin(), digits.end());
  std::int64_t reach = 0;
  for (const auto& [coefficient, extent] : digits) {
    if (coefficient <= reach) return false;
    reach += coefficient * (extent - 1);
  }
  return true;
}

bool uniform(const Affine& flat, const LaneSpace& space) {
  return std::none_of(space.loops.begin(), space.loops.end(),
                      [&](const CoreLoop* loop) { return flat.coefficients.count(loop->var.get()) != 0; });
}

// Lanes are legal for a store if nothing else accesses its buffer (lanes store in order), if every other access is to
// the lane's own element, or if the store folds all lanes into one element that nothing else accesses.
bool legal(const LaneAccess& access, const std::vector<LaneAccess>& all, LaneSpace& space) {
  std::vector<const LaneAccess*> others;
  for (const LaneAccess& other : all)
    if (*other.buffer == *access.buffer && &other != &access) others.push_back(&other);
  if (others.empty()) return true;
  const auto flat = flat_offset(**access.buffer, *access.indices);
  if (!flat) return false;
  const bool all_same = std::all_of(others.begin(), others.end(), [&](const LaneAccess* other) {
    return same_place(*other->indices, *access.indices);
  });
  if (!all_same) return false;
  if (injective(*flat, space)) return true;
  const auto reduction = as_reduction(*access.store);
  if (others.size() != 1 || others[0]->store != nullptr || !uniform(*flat, space) || !reduction) return false;
  space.reductions.insert(access.store);
  return true;
}

}  // namespace

bool LaneSpace::has(const VarNode* var) const {
  return std::any_of(loops.begin(), loops.end(), [&](const CoreLoop* loop) { return loop->var.get() == var; });
}

std::optional<Reduction> as_reduction(const CoreStore& store) {
  if (store.targets.size() != 1) return std::nullopt;
  const StoreTarget& target = store.targets[0];
  const auto* n = std::get_if<Binary>(&target.value->node);
  if (n == nullptr || reduce_kernel(n->op, target.value->dtype) == nullptr) return std::nullopt;
  const auto is_own = [&](const Expr& e) {
    const auto* l = std::get_if<LoadExpr>(&e->node);
    return l != nullptr && l->buffer == target.buffer && same_place(l->indices, target.indices);
  };
  if (is_own(n->a)) return Reduction{n->op, n->b};
  const bool commutes =
      n->op == BinaryOp::add || n->op == BinaryOp::mul || (!is_floating(target.value->dtype) && n->op != BinaryOp::sub);
  return commutes && is_own(n->b) ? std::optional(Reduction{n->op, n->a}) : std::nullopt;
}

std::optional<LaneSpace> lane_space(const CoreLoop& loop) {
  LaneSpace space;
  const CoreLoop* inner = &loop;
  while (true) {
    // A pass over a trimmed loop has as many lanes as iterations are left, so such a loop is a space alone.
    if (inner->proceed || (!space.loops.empty() && (is_trimmed(*inner) || is_trimmed(*space.loops[0]))))
      return std::nullopt;
    space.loops.push_back(inner);
    space.count *= inner->extent;
    if (space.loops.size() > 1 && space.count > kLanesPerPass)
      return std::nullopt;  // a single long loop runs in passes
    space.body = inner->body;
    const auto* next = std::get_if<CoreLoop>(&space.body->node);
    if (next == nullptr) break;
    inner = next;
  }
  if (has_loops(space.body)) return std::nullopt;
  std::vector<LaneAccess> accesses;
  collect(space.body, accesses);
  for (const LaneAccess& access : accesses)
    if (access.store != nullptr && !legal(access, accesses, space)) return std::nullopt;
  return space;
}

}  // namespace dovetail::loops
