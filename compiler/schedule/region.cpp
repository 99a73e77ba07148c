#include "compiler/schedule/region.h"

#include <algorithm>
#include <optional>
#include <set>

namespace dovetail::schedule {

using namespace loops;

namespace {

// The loads of a condition, which belong to no block.
void collect_loads(const Expr& condition, const BufferNode* buffer, const VarMap& bindings,
                   const std::vector<const For*>& loops, std::vector<AccessBox>& out) {
  visit_exprs(condition, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer.get() != buffer) return;
    Access access{nullptr, {}, loops, false};
    for (const Expr& index : load->indices)
      access.indices.push_back(simplify(substitute(index, bindings), bounds_of(loops)));
    out.push_back({std::move(access), std::vector<std::int64_t>(load->indices.size(), 1)});
  });
}

void collect(const Stmt& stmt, const BufferNode* buffer, const Block* block, const VarMap& bindings,
             const std::vector<const For*>& loops, std::vector<AccessBox>& out) {
  if (!stmt) return;
  const auto add = [&](const std::vector<Expr>& indices, bool write, std::vector<std::int64_t> extents) {
    const Bounds bounds = bounds_of(loops);
    Access access{block, {}, loops, write};
    for (const Expr& index : indices) access.indices.push_back(simplify(substitute(index, bindings), bounds));
    if (extents.empty()) extents.assign(indices.size(), 1);
    out.push_back({std::move(access), std::move(extents)});
  };
  const auto add_loads = [&](const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* access = std::get_if<LoadExpr>(&e->node); access && access->buffer.get() == buffer)
        add(access->indices, false, {});
    });
  };
  if (const auto* loop = std::get_if<For>(&stmt->node)) {
    std::vector<const For*> inner = loops;
    inner.push_back(loop);
    collect(loop->body, buffer, block, bindings, inner, out);
  } else if (const auto* condition = std::get_if<If>(&stmt->node)) {
    collect_loads(condition->condition, buffer, bindings, loops, out);
    collect(condition->then_body, buffer, block, bindings, loops, out);
    collect(condition->else_body, buffer, block, bindings, loops, out);
  } else if (const auto* seq = std::get_if<Sequence>(&stmt->node)) {
    for (const Stmt& child : seq->body) collect(child, buffer, block, bindings, loops, out);
  } else if (const auto* inner = std::get_if<Block>(&stmt->node)) {
    VarMap map = bindings;
    for (const Iterator& iterator : inner->iterators) map[iterator.var.get()] = substitute(iterator.binding, bindings);
    // The predicate bounds what the block accesses, but not what it accesses itself.
    if (inner->predicate) collect_loads(inner->predicate, buffer, map, loops, out);
    const Block* outermost = block ? block : inner;
    collect(inner->init, buffer, outermost, map, loops, out);
    collect(inner->body, buffer, outermost, map, loops, out);
  } else if (const auto* assignment = std::get_if<Store>(&stmt->node)) {
    for (const StoreTarget& target : assignment->targets) {
      if (target.buffer.get() == buffer) add(target.indices, true, {});
      add_loads(target.value);
      for (const Expr& index : target.indices) add_loads(index);
    }
  } else if (const auto* intrinsic = std::get_if<IntrinsicCall>(&stmt->node)) {
    for (const Expr& immediate : intrinsic->immediates) add_loads(immediate);
    for (std::size_t i = 0; i < intrinsic->operands.size(); ++i) {
      const IntrinsicOperand& operand = intrinsic->operands[i];
      for (const Expr& index : operand.indices) add_loads(index);
      if (operand.buffer.get() != buffer) continue;
      // Without extents, the reach of the call is not known: the whole buffer.
      const bool known = !operand.extents.empty();
      const std::vector<Expr> first = known ? operand.indices : std::vector<Expr>(operand.indices.size(), int_imm(0));
      const std::vector<std::int64_t> extents = known ? operand.extents : std::vector<std::int64_t>(buffer->shape);
      if (i == 0) add(first, true, extents);
      const auto is_it = [&](const Region& region) { return region.buffer.get() == buffer; };
      if (i != 0 || (block && std::any_of(block->reads.begin(), block->reads.end(), is_it))) add(first, false, extents);
    }
  }
}

}  // namespace

std::vector<AccessBox> accesses(const Stmt& root, const BufferNode* buffer, const std::vector<const For*>& outside) {
  std::vector<AccessBox> out;
  collect(root, buffer, nullptr, {}, outside, out);
  return out;
}

Path home_of(const Stmt& root, const BufferNode* buffer) {
  std::optional<Path> home;
  for (const Path& path : blocks_below(root)) {
    if (!reads(path.back(), buffer) && !writes(path.back(), buffer)) continue;
    if (!home) {
      home = path;
      continue;
    }
    home->erase(std::mismatch(home->begin(), home->end(), path.begin(), path.end()).first, home->end());
  }
  if (!home) return {};
  while (!home->empty() && !as_for(home->back())) home->pop_back();
  return *std::move(home);
}

Box touched_box(const std::vector<AccessBox>& accesses, const BufferNode& buffer,
                const std::vector<const For*>& outside) {
  std::set<const VarNode*> outer;
  for (const For* loop : outside) outer.insert(loop->var.get());

  Box box;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    const RangeExpr whole{int_imm(0), buffer.shape[d]};
    std::optional<Affine> base;       // outer part, without constant
    std::int64_t low = 0, high = -1;  // inclusive, relative to the outer part
    bool exact = true;
    for (const auto& [access, extents] : accesses) {
      const auto form = affine(access.indices[d], bounds_of(access.loops));
      if (!form) {
        exact = false;
        break;
      }
      Affine outer_part;
      std::int64_t min = form->constant, max = form->constant + extents[d] - 1;
      for (const auto& [var, coefficient] : form->coefficients) {
        if (outer.count(var)) {
          outer_part.coefficients[var] = coefficient;
          continue;
        }
        const auto loop = std::find_if(access.loops.begin(), access.loops.end(),
                                       [&, var = var](const For* l) { return l->var.get() == var; });
        if (loop == access.loops.end()) {
          exact = false;
          break;
        }
        (coefficient > 0 ? max : min) += coefficient * ((*loop)->extent - 1);
      }
      if (base && base->coefficients != outer_part.coefficients) exact = false;
      if (!exact) break;
      low = base ? std::min(low, min) : min;
      high = base ? std::max(high, max) : max;
      base = std::move(outer_part);
    }
    if (!exact || !base) {
      box.push_back(whole);
      continue;
    }
    Expr min = int_imm(low);
    for (const For* loop : outside)
      if (const auto it = base->coefficients.find(loop->var.get()); it != base->coefficients.end())
        min = ref(loop->var) * it->second + min;
    box.push_back({simplify(min, bounds_of(outside)), high - low + 1});
  }
  return box;
}

}  // namespace dovetail::schedule
