// tensorize LOOP INTRINSIC
//
//   for y { for o in 16 { for c in 16 { C: A[y, o] = A[y, o] + X[y, c] * W[o, c] } } }
//   ==>  for y { C: accel.gemm(A[y, 0], X[y, 0], W[0, 0]) }                                       (tensorize o accel.gemm)
//
// Replaces the nest at LOOP, which must hold one block, by a call of the intrinsic whose own loop program does the same. Unification is modulo the
// order of loops, loops of extent 1 and the strides of operands: each intrinsic axis must correspond to one loop of equal extent that moves each
// operand by a constant step, and no other loop may remain inside. Scopes of the operands must be those that the intrinsic asks for.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/unify.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

}  // namespace

Result<Program> apply_tensorize(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& loop_name = step.arguments[0];
  // The nest may have shrunk to nothing (all extents 1): then the block's own name is given.
  auto path = find_loop(program.body, loop_name);
  if (!path) path = find_block(program.body, loop_name);
  if (!path) return require_loop(program, loop_name, "tensorize").errors();
  const Intrinsic* intrinsic = find_intrinsic(intrinsics, step.arguments[1]);
  if (!intrinsic) {
    std::vector<std::string_view> names;
    for (const Intrinsic& row : intrinsics) names.push_back(row.name);
    return refuse("tensorize", loop_name, fmt::format("the target has no intrinsic {}", step.arguments[1]),
                  fmt::format("the intrinsics are {}", fmt::join(names, ", ")));
  }
  const Stmt nest = path->back();
  const Block* block = only_block(nest);
  if (!block) return refuse("tensorize", loop_name, "the nest holds several blocks", "name a loop directly around one block");
  const Path semantics = blocks_below(intrinsic->semantics.body).front();
  const Block& pattern = *as_block(semantics.back());

  std::vector<const For*> outside = loops_of(*path);
  std::vector<const For*> inside;
  if (as_for(nest)) outside.pop_back();
  for (Stmt at = nest; as_for(at); at = as_for(at)->body) inside.push_back(as_for(at));
  std::vector<const For*> all = outside;
  all.insert(all.end(), inside.begin(), inside.end());
  const Bounds bounds = bounds_of(all);

  if (static_cast<bool>(block->init) != static_cast<bool>(pattern.init))
    return refuse("tensorize", block->name, block->init ? "the block initialises its result and the intrinsic does not" : "the intrinsic initialises its result and the block does not",
                  "apply decompose_reduction first, or name another intrinsic");
  if (block->predicate) {
    bool concerned = false;
    visit_exprs(substitute(block->predicate, bindings_of(*block)), [&](const Expr& expr) {
      if (const auto* reference = std::get_if<VarRef>(&expr->node))
        for (const For* loop : inside) concerned |= loop->var == reference->var;
    });
    if (concerned)
      return refuse("tensorize", block->name, fmt::format("the predicate {} masks a part of the intrinsic", loops::to_string(block->predicate)),
                    "pad the operands, or split by a factor that divides");
  }

  if (block->init)
    for (const For* loop : outside)
      for (const Iterator& iterator : block->iterators)
        if (iterator.kind == IterKind::reduce && loop->extent > 1 && mentions(iterator.binding, loop->var))
          return refuse("tensorize", block->name, fmt::format("the intrinsic initialises its result in each call, and the reduction goes on in loop {}", loop->var->name),
                        "apply decompose_reduction, and name an intrinsic that accumulates");

  Match match;
  if (block->init) {
    Match init;
    if (std::string why = match_bodies(*intrinsic, pattern.init, block->init, bindings_of(*block), bounds, init); !why.empty())
      return refuse("tensorize", block->name, fmt::format("its init does not unify with that of {}: {}", intrinsic->name, why), "");
  }
  if (std::string why = match_bodies(*intrinsic, pattern.body, block->body, bindings_of(*block), bounds, match); !why.empty())
    return refuse("tensorize", block->name, fmt::format("it does not unify with {}: {}", intrinsic->name, why), "");

  // Intrinsic axes: the iterators of its block, each bound to its own loop. Try all assignments of loops to axes of equal extent.
  std::vector<const VarNode*> axes;
  std::vector<std::int64_t> extents;
  for (const Iterator& iterator : pattern.iterators) {
    if (iterator.extent == 1) continue;
    axes.push_back(iterator.var.get());
    extents.push_back(iterator.extent);
  }
  std::vector<const For*> loops;
  for (const For* loop : inside)
    if (loop->extent != 1) loops.push_back(loop);
  if (loops.size() != axes.size())
    return refuse("tensorize", block->name, fmt::format("{} has {} axes, the nest at {} has {} loops", intrinsic->name, axes.size(), loop_name, loops.size()),
                  "split and reorder so that exactly the intrinsic's axes lie inside");
  std::vector<int> order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  std::string why = "no loop has the extent of an axis";
  std::vector<Operand> operands;
  do {
    std::map<const VarNode*, int> loop_of;
    bool fits = true;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      fits = fits && loops[static_cast<std::size_t>(order[a])]->extent == extents[a];
      loop_of[axes[a]] = order[a];
    }
    if (!fits) continue;
    operands.clear();
    for (const Parameter& parameter : intrinsic->semantics.parameters) {
      auto operand = derive_operand(parameter, match, loops, outside, loop_of, bounds, why);
      if (!operand) break;
      operands.push_back(*std::move(operand));
    }
    if (operands.size() == intrinsic->semantics.parameters.size()) break;
    operands.clear();
  } while (std::next_permutation(order.begin(), order.end()));
  if (operands.empty()) return refuse("tensorize", block->name, fmt::format("it does not unify with {}: {}", intrinsic->name, why), "");

  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!intrinsic->scopes[i].empty() && operands[i].buffer->scope != intrinsic->scopes[i])
      return refuse("tensorize", block->name, fmt::format("operand {} of {} must be in scope {}, {} is in {}", intrinsic->semantics.parameters[i].buffer->name,
                                                          intrinsic->name, intrinsic->scopes[i], operands[i].buffer->name, operands[i].buffer->scope),
                    "use cache_read, cache_write or set_scope");

  for (const Operand& operand : operands)
    for (const auto& axis : operand.steps)
      if (std::any_of(axis.begin(), axis.end(), [](std::int64_t s) { return s < 0; }))
        return refuse("tensorize", block->name, fmt::format("it runs through {} backwards", operand.buffer->name), "reverse the buffer first");

  // The new block: one iterator per loop around it that moves an operand.
  Block call;
  call.name = block->name;
  call.annotations = block->annotations;
  VarMap to_iterator;
  std::vector<std::string> taken;
  for (const For* loop : outside) {
    bool used = false, spatial = true;
    for (const Iterator& iterator : block->iterators)
      visit_exprs(iterator.binding, [&](const Expr& expr) {
        const auto* reference = std::get_if<VarRef>(&expr->node);
        if (!reference || reference->var != loop->var) return;
        used = true;
        spatial = spatial && iterator.kind == IterKind::spatial;
      });
    if (!used) continue;
    const Var iterator = make_var(free_name(program, "v" + loop->var->name, taken));
    taken.push_back(iterator->name);
    to_iterator[loop->var.get()] = ref(iterator);
    call.iterators.push_back({iterator, loop->extent, spatial ? IterKind::spatial : IterKind::reduce, ref(loop->var)});
  }
  if (block->predicate) call.predicate = substitute(simplify(substitute(block->predicate, bindings_of(*block)), bounds), to_iterator);
  IntrinsicCall body{intrinsic->name, {}, {}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const Shape& shape = intrinsic->semantics.parameters[i].buffer->shape;
    IntrinsicOperand argument{operand.buffer, {}, operand.steps, std::vector<std::int64_t>(operand.buffer->shape.size(), 1)};
    Region region{operand.buffer, {}};
    for (std::size_t d = 0; d < operand.base.size(); ++d) {
      argument.indices.push_back(simplify(substitute(operand.base[d], to_iterator)));
      for (std::size_t axis = 0; axis < shape.size(); ++axis) argument.extents[d] += operand.steps[axis][d] * (shape[axis] - 1);
      region.ranges.push_back({argument.indices.back(), argument.extents[d]});
    }
    body.operands.push_back(std::move(argument));
    bool written = false, read = false;
    for (const Region& r : pattern.writes) written |= r.buffer == intrinsic->semantics.parameters[i].buffer;
    for (const Region& r : pattern.reads) read |= r.buffer == intrinsic->semantics.parameters[i].buffer;
    if (written) call.writes.push_back(region);
    if (read) call.reads.push_back(region);
  }
  for (const Var& immediate : intrinsic->immediates) body.immediates.push_back(match.immediates.at(immediate.get()));
  call.body = make_stmt(std::move(body));

  Program result = program;
  result.body = replace(program.body, nest, make_stmt(std::move(call)));
  return result;
}

}  // namespace dovetail::schedule
