#include "compiler/target/cpu/sketches/nest.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/codegen/transpose_loads.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

// A block's indices as functions of the enclosing loops.
class LoopIndices {
 public:
  LoopIndices(const schedule::Context& c, const Block& block) : bindings_(schedule::bindings_of(block)) {
    for (const auto& [iterator, binding] : bindings_)
      visit_exprs(binding, [&](const Expr& e) {
        if (const auto* n = std::get_if<VarRef>(&e->node)) bounds_[n->var.get()] = {0, c.extent(n->var->name) - 1};
      });
  }

  std::optional<Affine> operator()(const Expr& index) const { return affine(substitute(index, bindings_), bounds_); }

 private:
  VarMap bindings_;
  Bounds bounds_;
};

std::int64_t step_of(const Affine& index, const std::string& loop) {
  for (const auto& [var, step] : index.coefficients)
    if (var->name == loop) return step;
  return 0;
}

// The loop with stride 1 in the buffer's memory; "" if there is none.
std::string loop_along(const LoopIndices& indices, const Shape& shape, const std::vector<Expr>& at) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (const auto index = indices(at[d]))
      for (const auto& [var, step] : index->coefficients)
        if (step == 1) return var->name;
    break;
  }
  return "";
}

const StoreTarget& target_of(const Block& block) { return std::get<Store>(block.body->node).targets[0]; }

void each_index(const Block& block, const std::function<void(const Expr&)>& visit) {
  for (const Expr& index : target_of(block).indices) visit(index);
  visit_exprs(target_of(block).value, [&](const Expr& e) {
    if (const auto* load = std::get_if<LoadExpr>(&e->node))
      for (const Expr& index : load->indices) visit(index);
  });
}

// The number by which quotient and remainder of an iterator are taken, if it is unique.
std::map<std::size_t, std::int64_t> divisors_of(const Block& block) {
  std::map<std::size_t, std::set<std::int64_t>> all;
  each_index(block, [&](const Expr& index) {
    visit_exprs(index, [&](const Expr& e) {
      const auto* n = std::get_if<Binary>(&e->node);
      if (n == nullptr || (n->op != BinaryOp::floor_div && n->op != BinaryOp::floor_mod)) return;
      const auto* of = std::get_if<VarRef>(&n->a->node);
      const auto* by = std::get_if<IntImm>(&n->b->node);
      for (std::size_t i = 0; of != nullptr && by != nullptr && i < block.iterators.size(); ++i)
        if (block.iterators[i].var == of->var) all[i].insert(by->value);
    });
  });
  std::map<std::size_t, std::int64_t> divisors;
  for (const auto& [iterator, by] : all)
    if (by.size() == 1 && *by.begin() >= kFewestLanes) divisors[iterator] = *by.begin();
  return divisors;
}

}  // namespace

Nest nest_of(const schedule::Context& c, const std::string& name) {
  const Block& block = *c.block(name);
  Nest nest;
  nest.innermost = loop_along(LoopIndices(c, block), target_of(block).buffer->shape, target_of(block).indices);
  std::set<std::string> reduce;
  for (const Iterator& iterator : block.iterators) {
    visit_exprs(iterator.binding, [&](const Expr& e) {
      const auto* n = std::get_if<VarRef>(&e->node);
      if (n != nullptr && iterator.kind != IterKind::spatial) reduce.insert(n->var->name);
    });
    const auto* alone = std::get_if<VarRef>(&iterator.binding->node);
    if (alone != nullptr && alone->var->name == nest.innermost) nest.lane = iterator.var.get();
  }
  for (const std::string& loop : c.loops_of(name)) (reduce.contains(loop) ? nest.reduce : nest.spatial).push_back(loop);
  return nest;
}

void split_into_blocks(schedule::Context& c, const std::string& name, bool any_order) {
  const Block& block = *c.block(name);
  const std::map<std::size_t, std::int64_t> divisors = divisors_of(block);
  const auto reduces = [](const Iterator& iterator) { return iterator.kind != IterKind::spatial; };
  const auto to_one = [&](const Iterator& iterator) { return reduces(iterator) || iterator.extent == 1; };
  if (divisors.empty() ||
      (std::ranges::any_of(block.iterators, reduces) && (!any_order || !std::ranges::all_of(block.iterators, to_one))))
    return;
  VarMap split;
  Bounds bounds;
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const Iterator& iterator = block.iterators[i];
    const auto divisor = divisors.find(i);
    const std::int64_t size = divisor == divisors.end() ? iterator.extent : divisor->second;
    const Var outer = make_var("outer"), inner = make_var("inner");
    bounds[outer.get()] = {0, (iterator.extent + size - 1) / size - 1};
    bounds[inner.get()] = {0, size - 1};
    split[iterator.var.get()] = ref(outer) * size + ref(inner);
  }
  bool affine_all = true;
  each_index(block, [&](const Expr& index) { affine_all &= affine(substitute(index, split), bounds).has_value(); });
  if (!affine_all) return;
  const std::vector<std::string> loops = c.loops_of(name);
  for (const auto& [iterator, size] : divisors) c.tile(loops[iterator], size);
}

namespace {

// The strides of each loop in elements, for everything that the block reads except its result: one list per load.
// nullopt if a load has no constant stride.
std::optional<std::vector<std::vector<std::int64_t>>> strides(const schedule::Context& c, const std::string& name,
                                                              const std::vector<std::string>& loops) {
  const Block& block = *c.block(name);
  const LoopIndices indices(c, block);
  std::vector<std::vector<std::int64_t>> all;
  bool constant = true;
  visit_exprs(target_of(block).value, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer == target_of(block).buffer) return;
    std::vector<std::int64_t>& own = all.emplace_back(loops.size());
    std::int64_t stride = 1;
    for (std::size_t d = load->indices.size(); d-- > 0; stride *= load->buffer->shape[d]) {
      const auto index = indices(load->indices[d]);
      constant &= index.has_value();
      for (std::size_t l = 0; index && l < loops.size(); ++l) own[l] += stride * step_of(*index, loops[l]);
    }
  });
  return constant ? std::optional(all) : std::nullopt;
}

}  // namespace

std::vector<std::string> by_stride(const schedule::Context& c, const std::string& name,
                                   std::vector<std::string> loops) {
  const auto all = strides(c, name, loops);
  if (!all || all->empty()) return loops;
  std::vector<std::size_t> order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t l) {
    return c.extent(loops[l]) == 1 ? std::numeric_limits<std::int64_t>::max() : all->front()[l];
  });
  std::vector<std::string> sorted;
  for (const std::size_t l : order) sorted.push_back(loops[l]);
  return sorted;
}

bool follow_in_memory(const schedule::Context& c, const std::string& name, const std::string& outer,
                      const std::string& inner) {
  if (c.extent(outer) == 1) return true;
  const auto all = strides(c, name, {outer, inner});
  return all && std::ranges::all_of(
                    *all, [&](const std::vector<std::int64_t>& own) { return own[0] == own[1] * c.extent(inner); });
}

Across across_lanes(const schedule::Context& c, const std::string& name, const Nest& nest, const Cpu& cpu) {
  const Block& block = *c.block(name);
  const LoopIndices indices(c, block);
  Across found;
  if (!nest.reduce.empty()) return found;
  visit_exprs(target_of(block).value, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || !found.loop.empty() || load->buffer == target_of(block).buffer) return;
    const std::string along = loop_along(indices, load->buffer->shape, load->indices);
    if (along.empty() || along == nest.innermost || c.extent(along) < kFewestLanes) return;
    const bool far = std::ranges::any_of(load->indices, [&](const Expr& index) {
      const auto at = indices(index);
      return at && step_of(*at, nest.innermost) != 0;
    });
    const std::int64_t bytes = size_bytes(load->buffer->dtype);
    if (far) found = {along, kTransposedBytes / bytes, cpu.cache_line_bytes / bytes};
  });
  return found;
}

}  // namespace dovetail::cpu
