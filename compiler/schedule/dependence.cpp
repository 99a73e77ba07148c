#include "compiler/schedule/dependence.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::int64_t kLargestReach = std::int64_t{1} << 40;  // keeps sums of spans within int64

// A bound that a block's predicate gives for a sum: form <= most.
struct Limit {
  Linear form;  // constant 0
  std::int64_t most;
};
std::vector<Limit> limits_of(const Block& block, const Bounds& bounds) {
  std::vector<Limit> limits;
  for (const Expr& term : conjuncts(block.predicate)) {
    const Expr whole = simplify(substitute(term, bindings_of(block)), bounds);
    const auto* n = std::get_if<Binary>(&whole->node);
    if (!n || (n->op != BinaryOp::lt && n->op != BinaryOp::le) || n->a->dtype != DType::int64) continue;
    Linear form = linear_form(n->a - n->b);
    if (std::abs(form.constant) > kLargestReach) continue;
    const std::int64_t most = (n->op == BinaryOp::lt ? -1 : 0) - form.constant;
    form.constant = 0;
    limits.push_back({std::move(form), most});
  }
  return limits;
}

std::optional<Span> span_of(const Expr& index, std::int64_t extent, const std::set<const VarNode*>& fixed,
                            const Bounds& bounds, const std::vector<Limit>& limits = {}) {
  if (index->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(simplify(index, bounds));
  Span span{{}, form.constant, form.constant};
  if (std::abs(form.constant) > kLargestReach || extent > kLargestReach) return std::nullopt;
  Linear moving;
  for (const LinearTerm& term : form.terms) {
    bool is_fixed = true, loads = false;
    visit_exprs(term.atom, [&](const Expr& e) {
      if (const auto* reference = std::get_if<VarRef>(&e->node)) is_fixed &= fixed.count(reference->var.get()) != 0;
      loads |= std::holds_alternative<LoadExpr>(e->node);
    });
    if (loads) return std::nullopt;
    if (is_fixed) {
      span.base.add(term.atom, term.coefficient);
      continue;
    }
    const auto range = bound(term.atom, bounds);
    if (!range || range->min < -kLargestReach || range->max > kLargestReach || std::abs(term.coefficient) > (1 << 20))
      return std::nullopt;
    span.low += std::min(term.coefficient * range->min, term.coefficient * range->max);
    span.high += std::max(term.coefficient * range->min, term.coefficient * range->max);
    moving.add(term.atom, term.coefficient);
  }
  for (const Limit& limit : limits) {
    Linear difference = limit.form;
    difference.add(moving, -1);
    if (difference.terms.empty()) span.high = std::min(span.high, form.constant + limit.most);
  }
  span.high += extent - 1;
  return span;
}

bool same_base(const Linear& a, const Linear& b) {
  Linear difference = a;
  difference.add(b, -1);
  return difference.terms.empty();
}

bool is_reduce(const Iterator& iterator) { return iterator.kind == IterKind::reduce; }

// `term` of the block's predicate, at the point of the reduction where its init runs: loops `inside` that feed the
// reduction are 0 there.
Expr at_start(const Block& block, const Expr& term, const std::vector<const For*>& inside, const Bounds& bounds) {
  VarMap iterators, zero;
  for (const Iterator& iterator : block.iterators)
    iterators[iterator.var.get()] = is_reduce(iterator) ? int_imm(0, iterator.var->dtype) : iterator.binding;
  for (const For* loop : inside)
    for (const Iterator& iterator : block.iterators)
      if (is_reduce(iterator) && mentions(iterator.binding, loop->var))
        zero[loop->var.get()] = int_imm(0, loop->var->dtype);
  return simplify(substitute(substitute(term, iterators), zero), bounds);
}
// The init runs while the outer loops are fixed: every reduce iterator is 0 if the loops `inside` that feed one are.
bool starts_inside(const Block& block, const std::vector<const For*>& inside, const Bounds& bounds) {
  return std::all_of(block.iterators.begin(), block.iterators.end(), [&](const Iterator& iterator) {
    if (!is_reduce(iterator)) return true;
    const Expr first = at_start(block, iterator.binding, inside, bounds);
    const auto* value = std::get_if<IntImm>(&first->node);
    return value && value->value == 0;
  });
}
bool is_true(const Expr& expr) {
  const auto* decided = std::get_if<IntImm>(&expr->node);
  return decided && decided->value != 0;
}

// Whether a block with an init reads only elements of `buffer` that it writes, and initializes each of them first, for
// fixed outer loops.
bool starts_what_it_reads(const Path& path, const BufferNode* buffer, const std::vector<const For*>& outside) {
  const Block& block = *as_block(path.back());
  const std::vector<const For*> all = loops_of(path);
  const std::vector<const For*> inside(all.begin() + static_cast<std::ptrdiff_t>(outside.size()), all.end());
  if (!block.init || !starts_inside(block, inside, bounds_of(all)) || !starts_once(block, outside, inside))
    return false;
  const auto* start = std::get_if<Store>(&block.init->node);
  const auto* update = std::get_if<Store>(&block.body->node);
  if (!start || !update) return false;
  const auto target = [&](const Store& store) {
    const auto it = std::find_if(store.targets.begin(), store.targets.end(),
                                 [&](const StoreTarget& t) { return t.buffer.get() == buffer; });
    return it == store.targets.end() ? nullptr : &*it;
  };
  const StoreTarget* started = target(*start);
  const StoreTarget* updated = target(*update);
  if (!started || !updated) return false;
  const auto same = [&](const std::vector<Expr>& indices) {
    return std::equal(indices.begin(), indices.end(), updated->indices.begin(), updated->indices.end(),
                      structurally_equal);
  };
  bool only_its_own = same(started->indices);
  visit_exprs(path.back(), [&](const Expr& e) {
    if (const auto* access = std::get_if<LoadExpr>(&e->node); access && access->buffer.get() == buffer)
      only_its_own &= same(access->indices);
  });
  visit_exprs(block.init, [&](const Expr& e) {
    if (const auto* access = std::get_if<LoadExpr>(&e->node)) only_its_own &= access->buffer.get() != buffer;
  });
  if (!only_its_own) return false;
  // If the predicate holds at any point, it holds at the start.
  const Bounds bounds = bounds_of(all);
  for (const Expr& term : conjuncts(block.predicate)) {
    const Expr whole = simplify(substitute(term, bindings_of(block)), bounds),
               start_term = at_start(block, term, inside, bounds);
    if (!is_true(start_term) && !structurally_equal(whole, start_term)) return false;
  }
  return true;
}

// The part of `buffer` that a block certainly writes while the loops `outside` of its path are fixed: all of the hull
// that is within the buffer. nullopt: not proven.
std::optional<Hull> surely_written(const Path& path, const BufferNode& buffer, const std::vector<const For*>& outside,
                                   const IntrinsicTable& intrinsics) {
  const Block& block = *as_block(path.back());
  for (std::size_t i = 0, loops = 0; i + 1 < path.size(); ++i) {
    if (as_for(path[i])) ++loops;
    if (loops > outside.size() && std::holds_alternative<If>(path[i]->node)) return std::nullopt;
  }
  const std::vector<const For*> all = loops_of(path);
  const std::vector<const For*> all_inside(all.begin() + static_cast<std::ptrdiff_t>(outside.size()), all.end());
  std::vector<const For*> inside = all_inside;  // those that move the written element
  std::vector<Expr> indices;
  std::vector<For> axes;  // axes of a call's operand, treated as loops
  axes.reserve(8);
  if (const auto* assignment = std::get_if<Store>(&(block.init ? block.init : block.body)->node)) {
    if (!block.init && std::any_of(block.iterators.begin(), block.iterators.end(), is_reduce)) return std::nullopt;
    for (const StoreTarget& target : assignment->targets)
      if (target.buffer.get() == &buffer) indices = target.indices;
  } else if (const auto* call = std::get_if<IntrinsicCall>(&block.body->node); call && !block.init) {
    const Intrinsic* row = find_intrinsic(intrinsics, call->intrinsic);
    if (!row || call->operands.empty() || call->operands[0].buffer.get() != &buffer) return std::nullopt;
    const Buffer& parameter = row->semantics.parameters[0].buffer;
    const auto semantics = blocks_below(row->semantics.body);
    if (semantics.size() != 1 || !writes_whole(semantics[0], *parameter) || parameter->shape.size() > axes.capacity())
      return std::nullopt;
    indices = call->operands[0].indices;
    for (std::size_t axis = 0; axis < parameter->shape.size(); ++axis) {
      axes.push_back(
          {make_var("axis" + std::to_string(axis)), parameter->shape[axis], ForKind::serial, "", {}, nullptr});
      for (std::size_t d = 0; d < indices.size(); ++d)
        if (const std::int64_t step = call->operands[0].steps[axis][d]; step != 0)
          indices[d] = indices[d] + ref(axes.back().var) * step;
    }
    for (const For& axis : axes) inside.push_back(&axis);
  }
  if (indices.size() != buffer.shape.size() || indices.empty()) return std::nullopt;

  std::vector<const For*> around = outside;
  around.insert(around.end(), inside.begin(), inside.end());
  const Bounds bounds = bounds_of(around);
  const std::set<const VarNode*> fixed = vars_of(outside);
  if (block.init) {
    if (!starts_inside(block, inside, bounds)) return std::nullopt;
    std::erase_if(inside, [&](const For* loop) {
      return loop->extent > 0 && std::any_of(block.iterators.begin(), block.iterators.end(), [&](const Iterator& i) {
               return is_reduce(i) && mentions(i.binding, loop->var);
             });
    });
  }
  // A predicate may limit the varying part of an index (v * 16 + l < 17 in g * 17 + v * 16 + l), and thereby the hull.
  const std::vector<Limit> limits = block.init ? std::vector<Limit>() : limits_of(block, bounds);
  Hull hull;
  std::vector<Expr> values;
  std::vector<std::int64_t> extents;
  for (Expr& index : indices) {
    index = block.init ? at_start(block, index, all_inside, bounds)
                       : simplify(substitute(index, bindings_of(block)), bounds);
    hull.push_back(span_of(index, 1, fixed, bounds, limits));
    if (!hull.back()) return std::nullopt;
    Linear moving = linear_form(index);
    moving.add(hull.back()->base, -1);
    values.push_back(simplify(to_expr(moving) - hull.back()->low, bounds));
    extents.push_back(hull.back()->high - hull.back()->low + 1);
  }
  if (!covers(values, extents, inside)) return std::nullopt;
  for (const Expr& term : conjuncts(block.predicate)) {
    const Expr at = at_start(block, term, all_inside, bounds);
    if (!holds_where(at, indices, buffer.shape, bounds) && !holds_where(at, values, extents, bounds))
      return std::nullopt;
  }
  return hull;
}

// `inner` is contained in `outer` within [0, extent).
bool holds_span(const Span& outer, const Span& inner, std::int64_t extent, const Bounds& bounds) {
  if (same_base(outer.base, inner.base) && outer.low <= inner.low && outer.high >= inner.high) return true;
  const auto base = bound(to_expr(outer.base), bounds);
  const bool from_start = base && base->max + outer.low <= 0, to_end = base && base->min + outer.high >= extent - 1;
  const bool below = from_start || (same_base(outer.base, inner.base) && outer.low <= inner.low);
  const bool above = to_end || (same_base(outer.base, inner.base) && outer.high >= inner.high);
  return below && above;
}

// A block before `reader`, in the same iteration of the loop at position `loop` of its path, certainly writes
// everything that it reads.
bool written_before(const Path& reader, std::size_t loop, const std::vector<Path>& blocks, const Buffer& buffer,
                    const IntrinsicTable& intrinsics) {
  for (const Path& writer : blocks) {
    if (!writes(writer.back(), buffer.get())) continue;
    const auto fork = std::mismatch(writer.begin(), writer.end(), reader.begin(), reader.end());
    if (fork.first == writer.end() || fork.second == reader.end()) continue;
    const auto common = static_cast<std::size_t>(fork.first - writer.begin());
    if (common <= loop) continue;
    const auto* siblings = std::get_if<Sequence>(&writer[common - 1]->node);
    if (!siblings) continue;
    const auto& body = siblings->body;
    if (std::find(body.begin(), body.end(), *fork.first) > std::find(body.begin(), body.end(), *fork.second)) continue;
    const std::vector<const For*> outside = loops_of(Path(writer.begin(), fork.first));
    const auto written = surely_written(writer, *buffer, outside, intrinsics);
    if (!written) continue;
    std::vector<AccessBox> read;
    for (AccessBox& box : accesses(reader[common], buffer.get(), outside))
      if (!box.access.write && (box.access.block == nullptr || box.access.block == as_block(reader.back())))
        read.push_back(std::move(box));
    const Hull needed = hull_of(read, vars_of(outside));
    const Bounds bounds = bounds_of(outside);
    bool all = needed.size() == written->size();
    for (std::size_t d = 0; all && d < needed.size(); ++d) {
      const Span whole{{}, 0, buffer->shape[d] - 1};
      all = holds_span(*(*written)[d], needed[d] ? *needed[d] : whole, buffer->shape[d], bounds);
    }
    if (all) return true;
  }
  return false;
}

}  // namespace

std::set<const VarNode*> vars_of(const std::vector<const For*>& loops) {
  std::set<const VarNode*> vars;
  for (const For* loop : loops) vars.insert(loop->var.get());
  return vars;
}

Hull hull_of(const std::vector<AccessBox>& accesses, const std::set<const VarNode*>& fixed) {
  Hull hull;
  for (const auto& [access, extents] : accesses) {
    const Bounds bounds = bounds_of(access.loops);
    const std::vector<Limit> limits = access.block == nullptr ? std::vector<Limit>() : limits_of(*access.block, bounds);
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      auto span = span_of(access.indices[d], extents[d], fixed, bounds, limits);
      if (hull.size() <= d) {
        hull.push_back(std::move(span));
      } else if (hull[d] && span && same_base(hull[d]->base, span->base)) {
        hull[d]->low = std::min(hull[d]->low, span->low);
        hull[d]->high = std::max(hull[d]->high, span->high);
      } else {
        hull[d] = std::nullopt;
      }
    }
  }
  return hull;
}

namespace {

// Whether all accesses have the same index, whose value determines the loops in `vars`. Required if iterations are
// interleaved, so that their hulls overlap.
bool determines_loops(const std::vector<AccessBox>& accesses, const std::vector<const For*>& outside,
                      const std::set<const VarNode*>& vars) {
  const std::set<const VarNode*> fixed = vars_of(outside);
  Bounds bounds = bounds_of(outside);
  std::map<std::pair<std::size_t, std::int64_t>, Var>
      canonical;  // inner loops by their order in the indices, and extent
  std::vector<Expr> form;
  std::set<const VarNode*> inner;
  for (const auto& [access, extents] : accesses) {
    if (std::any_of(extents.begin(), extents.end(), [](std::int64_t extent) { return extent != 1; })) return false;
    VarMap renamed;
    bool known = true;
    for (const Expr& index : access.indices)
      visit_exprs(index, [&, &access = access](const Expr& e) {
        known &= !std::holds_alternative<LoadExpr>(e->node) && e->dtype == DType::int64;
        const auto* reference = std::get_if<VarRef>(&e->node);
        if (!reference || fixed.count(reference->var.get()) || renamed.count(reference->var.get())) return;
        const auto loop = std::find_if(access.loops.begin(), access.loops.end(),
                                       [&](const For* l) { return l->var == reference->var; });
        if (loop == access.loops.end()) {
          known = false;
          return;
        }
        Var& var = canonical[{renamed.size(), (*loop)->extent}];
        if (!var) var = make_var(fmt::format("inner{}", canonical.size()));
        bounds[var.get()] = {0, std::max<std::int64_t>((*loop)->extent - 1, 0)};
        if ((*loop)->extent > 1) inner.insert(var.get());
        renamed[reference->var.get()] = ref(var);
      });
    if (!known) return false;
    std::vector<Expr> indices;
    for (const Expr& index : access.indices) indices.push_back(simplify(substitute(index, renamed), bounds));
    if (form.empty()) form = std::move(indices);
    else if (!std::equal(form.begin(), form.end(), indices.begin(), indices.end(), structurally_equal)) return false;
  }
  return distinguishes_any(form, vars, inner, bounds);
}

std::set<const VarNode*> that_move(const std::vector<const For*>& loops) {
  std::set<const VarNode*> vars;
  for (const For* loop : loops)
    if (loop->extent > 1) vars.insert(loop->var.get());
  return vars;
}

}  // namespace

bool disjoint_hulls(const std::vector<AccessBox>& accesses, const std::vector<const For*>& outside,
                    const std::vector<const For*>& moving) {
  std::vector<Expr> values;
  std::vector<std::int64_t> slacks;
  for (const auto& span : hull_of(accesses, vars_of(outside))) {
    if (!span) continue;
    values.push_back(to_expr(span->base));
    slacks.push_back(span->high - span->low);
  }
  return distinguishes(values, slacks, that_move(moving), bounds_of(outside));
}

bool disjoint(const std::vector<AccessBox>& accesses, const std::vector<const For*>& outside,
              const std::vector<const For*>& moving) {
  return disjoint_hulls(accesses, outside, moving) || determines_loops(accesses, outside, that_move(moving));
}

std::vector<Buffer> written_below(const Stmt& stmt) {
  std::vector<Buffer> buffers;
  for (const Path& path : blocks_below(stmt))
    for (const Region& region : as_block(path.back())->writes)
      if (std::find(buffers.begin(), buffers.end(), region.buffer) == buffers.end()) buffers.push_back(region.buffer);
  return buffers;
}

std::string not_private(const Program& program, const Path& path, const Buffer& buffer,
                        const IntrinsicTable& intrinsics) {
  const std::string name = as_for(path.back())->var->name;
  if (!is_allocation(program, buffer)) return fmt::format("{} is a parameter of the program", buffer->name);
  const std::size_t position = path.size() - 1;
  const std::vector<const For*> outside = loops_of(path);
  const std::vector<Path> blocks = blocks_below(program.body);
  for (const Path& other : blocks) {
    const bool inside = other.size() > position && other[position] == path.back();
    const bool read = reads(other.back(), buffer.get());
    if (!inside && (read || writes(other.back(), buffer.get())))
      return fmt::format("block {}, outside of {}, also uses {}", as_block(other.back())->name, name, buffer->name);
    if (inside && read && !starts_what_it_reads(other, buffer.get(), outside) &&
        !written_before(other, position, blocks, buffer, intrinsics))
      return fmt::format("block {} reads elements of {} that the same iteration does not provably write before",
                         as_block(other.back())->name, buffer->name);
  }
  return in_condition(program.body, buffer) ? fmt::format("a condition reads {}", buffer->name) : "";
}

std::optional<Conflict> carried_dependence(const Program& program, const Path& path, const IntrinsicTable& intrinsics) {
  const For& loop = *as_for(path.back());
  if (loop.extent <= 1) return std::nullopt;
  const std::vector<const For*> outside = loops_of(path);
  for (const Path& below : blocks_below(path.back())) {
    const Block& block = *as_block(below.back());
    for (const Iterator& iterator : block.iterators)
      if (iterator.kind != IterKind::spatial && mentions(iterator.binding, loop.var))
        return Conflict{fmt::format("its {} iterations carry {} iterator {} of block {}", loop.extent,
                                    iterator.kind == IterKind::reduce ? "the reduce" : "the ordered",
                                    iterator.var->name, block.name),
                        iterator.kind == IterKind::reduce
                            ? "rfactor the reduction, or name a loop that feeds spatial iterators alone"
                            : "name a loop that feeds spatial iterators alone"};
  }
  for (const Buffer& buffer : written_below(path.back())) {
    if (disjoint(accesses(loop.body, buffer.get(), outside), outside, {&loop})) continue;
    const std::string shared = not_private(program, path, buffer, intrinsics);
    if (!shared.empty())
      return Conflict{fmt::format("two of its {} iterations may touch one element of {}, and {}", loop.extent,
                                  buffer->name, shared),
                      "give each iteration its own elements, or compute_at all uses into one iteration"};
  }
  return std::nullopt;
}

}  // namespace dovetail::schedule
