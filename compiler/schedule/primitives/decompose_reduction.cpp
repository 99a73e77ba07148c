// decompose_reduction BLOCK LOOP -> INIT
//
//   for y { for k { B: init { A[y] = 0 }  A[y] = A[y] + f(y, k) } }
//   ==>   for y { INIT: A[y] = 0   for k { B: A[y] = A[y] + f(y, k) } }                                (LOOP k)
//
// The initialization becomes a separate block over the spatial loops inside LOOP, just before LOOP. Legal if every loop
// that feeds a reduction iterator is LOOP or inside it: else the init would run again after a part of the sum; and if
// the inner loops visit each element of the result by one path, so that no element is initialized twice.
//
// A body A = max(A, select(c, v, i)) whose init is A = i becomes A = max(A, v) with predicate c (also for min, and for
// + with i = 0): A starts at i and never falls below it, so that the masked iterations change nothing. A sum of floats
// that starts at +0 is never -0, the only value that adding +0 would change.
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/iteration.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

// Turns the select of a masked reduction into the block's predicate; returns the block unchanged if the rule does not
// apply.
Block mask_by_predicate(Block block, const Stmt& init) {
  const auto* start = std::get_if<Store>(&init->node);
  const auto* update = std::get_if<Store>(&block.body->node);
  if (!start || !update || start->targets.size() != 1 || update->targets.size() != 1) return block;
  const auto* combine = std::get_if<Binary>(&update->targets[0].value->node);
  if (!combine) return block;
  const auto* masked = std::get_if<Select>(&combine->b->node);
  if (!masked || !structurally_equal(masked->if_false, start->targets[0].value)) return block;
  const bool neutral = combine->op == BinaryOp::max || combine->op == BinaryOp::min ||
                       (combine->op == BinaryOp::add && is_positive_zero(masked->if_false));
  if (!neutral) return block;
  const StoreTarget& target = update->targets[0];
  block.predicate = conjunction(block.predicate, masked->condition);
  block.body = store(target.buffer, target.indices, binary(combine->op, combine->a, masked->if_true));
  return block;
}

}  // namespace

Result<Program> apply_decompose_reduction(const Program& program, Step& step, const IntrinsicTable&) {
  DOVETAIL_ASSIGN(const Path path, require_block(program, step.arguments[0], "decompose_reduction"));
  DOVETAIL_TRY(require_loop(program, step.arguments[1], "decompose_reduction"));
  const Block& block = *as_block(path.back());
  DOVETAIL_TRY(require_no_inner_block(block, "decompose_reduction", block.name));
  if (!block.init)
    return refuse("decompose_reduction", block.name, "the block has no init",
                  "name a reduction that was not decomposed yet");
  std::size_t depth = 0;
  while (depth < path.size() && !(as_for(path[depth]) && as_for(path[depth])->var->name == step.arguments[1])) ++depth;
  if (depth == path.size())
    return refuse("decompose_reduction", block.name,
                  fmt::format("loop {} does not enclose the block", step.arguments[1]),
                  "name a loop that encloses the block");
  if (only_block(path[depth]) != &block)
    return refuse("decompose_reduction", block.name,
                  fmt::format("loop {} also contains other blocks", step.arguments[1]),
                  "decompose before compute_at moves blocks in");
  if (step.results.empty()) step.results = {block.name + ".init"};
  DOVETAIL_TRY(require_new_name(program, step.results[0], "decompose_reduction", block.name));

  std::set<const VarNode*> spatial_vars, reduce_vars;
  for (const Iterator& iterator : block.iterators)
    visit_exprs(iterator.binding, [&](const Expr& expr) {
      if (const auto* reference = std::get_if<VarRef>(&expr->node))
        (iterator.kind == IterKind::spatial ? spatial_vars : reduce_vars).insert(reference->var.get());
    });
  for (std::size_t i = 0; i < depth; ++i)
    if (const For* loop = as_for(path[i]); loop && loop->extent > 1 && reduce_vars.count(loop->var.get()))
      return refuse("decompose_reduction", block.name,
                    fmt::format("loop {} outside of {} belongs to the reduction", loop->var->name, step.arguments[1]),
                    fmt::format("name {} or a loop outside of it", loop->var->name));

  std::vector<const For*> outside, inside;
  for (std::size_t i = 0; i < path.size(); ++i)
    if (const For* loop = as_for(path[i])) (i < depth ? outside : inside).push_back(loop);
  if (!starts_once(block, outside, inside))
    return refuse(
        "decompose_reduction", block.name,
        fmt::format(
            "inside {}, an element of the result is not provably initialized exactly once, before all parts of its sum",
            step.arguments[1]),
        "name an inner loop, or decompose before fuse");

  // The init block: spatial iterators with new loops for those inside LOOP; reduction variables are 0 there.
  Block init;
  init.name = step.results[0];
  VarMap loops, iterators;
  std::vector<For> nest;
  for (std::size_t i = depth; i + 1 < path.size(); ++i) {
    const For& loop = *as_for(path[i]);
    if (!spatial_vars.count(loop.var.get())) {
      loops[loop.var.get()] = int_imm(0);
      continue;
    }
    const Var fresh = make_var(free_name(program, init.name + "." + loop.var->name));
    loops[loop.var.get()] = ref(fresh);
    nest.push_back({fresh, loop.extent, ForKind::serial, "", {}, nullptr});
  }
  for (const Iterator& iterator : block.iterators) {
    if (iterator.kind != IterKind::spatial) {
      iterators[iterator.var.get()] = int_imm(0);
      continue;
    }
    const Var fresh = make_var(iterator.var->name);
    iterators[iterator.var.get()] = ref(fresh);
    init.iterators.push_back({fresh, iterator.extent, IterKind::spatial, substitute(iterator.binding, loops)});
  }
  if (block.predicate) {
    // Terms about reduction loops do not apply to the init; the predicate at reduction index 0 is implied by the
    // others.
    const Expr at_zero = simplify(substitute(substitute(block.predicate, iterators), loops));
    const auto* decided = std::get_if<IntImm>(&at_zero->node);
    if (!decided || decided->value == 0) init.predicate = at_zero;
  }
  init.body = substitute(block.init, iterators);
  Stmt init_stmt = make_stmt(with_inferred_regions(std::move(init)));
  for (auto loop = nest.rbegin(); loop != nest.rend(); ++loop) {
    loop->body = std::move(init_stmt);
    init_stmt = make_stmt(std::move(*loop));
  }
  Block rest = mask_by_predicate(block, block.init);
  rest.init = nullptr;
  const Stmt loop = replace(path[depth], path.back(), make_stmt(with_inferred_regions(std::move(rest))));
  Program result = program;
  result.body = replace(program.body, path[depth], sequence({init_stmt, loop}));
  return result;
}

}  // namespace dovetail::schedule
