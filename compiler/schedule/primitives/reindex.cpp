// reindex BLOCK BUFFER -> REINDEXED
//
//   B: Y[i] = Y[i] + X[i * 2 + k] * W[k]
//   ==>   REINDEXED: R[i, k] = X[i * 2 + k]     B: Y[i] = Y[i] + R[i, k] * W[k]
//
// The block reads BUFFER through a copy with one dimension for each iterator that its index moves with, in the order of
// the iterators: for a convolution's input this is the im2col form. The copy comes before the top-level statement that
// contains BLOCK; compute_at shrinks it. Legal if BLOCK reads BUFFER at one index, which is in bounds for all values of
// the iterators, that statement does not write BUFFER, and all of BUFFER is defined before.
#include <fmt/format.h>

#include "compiler/schedule/caching.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_reindex(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  DOVETAIL_ASSIGN(const CachePlace place, find_cache_place(program, step.arguments[0], step.arguments[1], "reindex"));
  const Block& block = *as_block(place.path.back());
  const Buffer& buffer = place.buffer;
  if (!reads(place.path.back(), buffer.get()))
    return refuse("reindex", buffer->name, fmt::format("block {} does not read the buffer", block.name),
                  "name a buffer that the block reads");
  if (writes(place.top, buffer.get()))
    return refuse("reindex", buffer->name, "the buffer is written in the same nest, so an earlier copy would be stale",
                  "reindex before compute_at moves writer and reader into one nest");
  if (!is_whole(program, place))
    return refuse("reindex", buffer->name, "no earlier block provably writes the whole buffer",
                  "reindex before its producer is masked, tensorized or moved");

  std::vector<Expr> loads;
  const auto collect = [&](const Expr& expr) {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    const bool known =
        std::any_of(loads.begin(), loads.end(), [&](const Expr& other) { return structurally_equal(other, expr); });
    if (access && access->buffer == buffer && !known) loads.push_back(expr);
  };
  if (block.init) visit_exprs(block.init, collect);
  visit_exprs(block.body, collect);
  if (block.predicate) visit_exprs(block.predicate, collect);
  if (loads.size() != 1)
    return refuse("reindex", buffer->name,
                  fmt::format("block {} reads the buffer at {} different indices", block.name, loads.size()),
                  "reindex a buffer that the block reads at one index");
  const std::vector<Expr>& indices = std::get<LoadExpr>(loads[0]->node).indices;

  std::vector<Iterator> iterators;
  VarMap fresh;
  std::vector<Expr> at, moved;
  Shape shape;
  for (const Iterator& iterator : block.iterators) {
    const bool moves =
        std::any_of(indices.begin(), indices.end(), [&](const Expr& index) { return mentions(index, iterator.var); });
    if (!moves) continue;
    iterators.push_back(
        {make_var(iterator.var->name, iterator.var->dtype), iterator.extent, IterKind::spatial, nullptr});
    fresh[iterator.var.get()] = ref(iterators.back().var);
    at.push_back(cast(DType::int64, ref(iterator.var)));
    moved.push_back(cast(DType::int64, ref(iterators.back().var)));
    shape.push_back(iterator.extent);
  }
  for (const Expr& index : indices) {
    bool other = false;
    visit_exprs(index, [&](const Expr& e) {
      const auto* reference = std::get_if<VarRef>(&e->node);
      other |= std::holds_alternative<LoadExpr>(e->node) || (reference && !fresh.count(reference->var.get()));
    });
    if (other)
      return refuse(
          "reindex", buffer->name,
          fmt::format("the buffer's index {} depends on more than the block's iterators", loops::to_string(index)),
          "reindex a buffer that is indexed by iterators alone");
  }
  DOVETAIL_TRY(name_copy(program, step, buffer->name + "." + block.name, shape.size(), "reindex"));
  const Buffer copy = make_buffer(step.results[0], buffer->dtype, shape, buffer->scope);
  std::vector<Expr> from;
  for (const Expr& index : indices) from.push_back(substitute(index, fresh));

  const auto exprs = [&](const Expr& expr) { return structurally_equal(expr, loads[0]) ? load(copy, at) : expr; };
  Block reader = block;
  if (reader.init) reader.init = rewrite_stmt(reader.init, {}, exprs);
  reader.body = rewrite_stmt(reader.body, {}, exprs);
  if (reader.predicate) reader.predicate = rewrite_expr(reader.predicate, exprs);
  const Stmt nest = replace(place.top, place.path.back(), make_stmt(with_inferred_regions(std::move(reader))));
  Program result = program;
  result.allocations.push_back(copy);
  result.body = replace(program.body, place.top,
                        sequence({copy_nest(step.results[0], std::move(iterators), copy, moved, buffer, from), nest}));
  return if_proven(std::move(result), {step.results[0], block.name}, intrinsics, "reindex", buffer->name,
                   "compute its mask in a separate block");
}

}  // namespace dovetail::schedule
