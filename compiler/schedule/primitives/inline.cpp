// inline BLOCK
//
//   P: A[i] = f(X[i])     C: B[j] = g(A[j], A[j + 1])    ==>   C: B[j] = g(f(X[j]), f(X[j + 1]))          (inline P)
//
// Substitutes a producer into all its readers; the block and its buffer disappear. Legal if
//  - BLOCK is one plain store to an allocation that no other block writes, at distinct spatial iterators, without
//    reduction and without mask,
//  - only blocks of plain statements read that buffer: no tensor intrinsic, no condition around blocks,
//  - the operands of BLOCK are written, if at all, by top-level statements before the one that contains BLOCK: they
//    have the same values at the readers.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_inline_block(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, "inline"));
  const Block& block = *as_block(path.back());
  DOVETAIL_TRY(require_no_inner_block(block, "inline", name));
  DOVETAIL_ASSIGN(const StoreTarget target, require_plain_store(block, "inline"));
  const Buffer buffer = target.buffer;
  if (!is_allocation(program, buffer))
    return refuse("inline", name, fmt::format("{} is an output of the program, and must be stored", buffer->name),
                  "inline the producer of an intermediate buffer");
  const auto dimensions = dimensions_of(block, target.indices, *buffer);
  if (!dimensions || !one_to_one(block, *dimensions))
    return refuse("inline", name,
                  fmt::format("the indices of {} are not distinct spatial iterators of the block", buffer->name),
                  "apply this step before transform_layout");
  for (const Expr& term : conjuncts(block.predicate))
    if (!holds_in_range(block, term, bounds_of(loops_of(path))))
      return refuse("inline", name,
                    fmt::format("the block's predicate {} masks a part of {}", loops::to_string(term), buffer->name),
                    "leave the block where it is");
  if (tensorized(program.body, buffer.get()))
    return refuse("inline", name, fmt::format("a tensor intrinsic uses {}", buffer->name),
                  "apply this step before tensorize");
  if (in_condition(program.body, buffer))
    return refuse("inline", name, fmt::format("a condition reads {}", buffer->name), "leave the block where it is");

  std::set<std::string> readers;
  const std::size_t own = top_position(program, path);
  for (const Path& other : blocks_below(program.body)) {
    const Block& b = *as_block(other.back());
    if (reads(other.back(), buffer.get())) {
      DOVETAIL_TRY(require_no_inner_block(b, "inline", name));
      readers.insert(b.name);
    }
    if (b.name != name && writes(other.back(), buffer.get()))
      return refuse("inline", name, fmt::format("block {} also writes {}", b.name, buffer->name),
                    "inline a block that is the only writer of its buffer");
    for (const Region& region : block.reads)
      if (writes(other.back(), region.buffer.get()) && top_position(program, other) >= own)
        return refuse("inline", name,
                      fmt::format("block {} writes {}, which the inlined block reads, but is not in an earlier nest",
                                  b.name, region.buffer->name),
                      "inline before compute_at moves both into one nest");
  }
  if (readers.empty())
    return refuse("inline", name, fmt::format("no block reads {}", buffer->name), "leave the block where it is");

  // All loads of one element share one replacement: x * f(x) contains it once.
  std::vector<std::pair<std::vector<Expr>, Expr>> values;
  const auto exprs = [&](const Expr& expr) -> Expr {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    if (!access || access->buffer != buffer) return expr;
    for (const auto& [indices, value] : values)
      if (std::ranges::equal(indices, access->indices, structurally_equal)) return value;
    values.emplace_back(access->indices, substitute(target.value, iterators_at(block, *dimensions, access->indices)));
    return values.back().second;
  };
  Program result = program;
  result.body = replace(program.body, path[own_nest(path)], nullptr);
  result.body = rewrite_stmt(result.body, [&](const Stmt& stmt) -> Stmt {
    const Block* reader = as_block(stmt);
    if (!reader || !readers.count(reader->name)) return stmt;
    Block copy = *reader;
    if (copy.init) copy.init = rewrite_stmt(copy.init, {}, exprs);
    copy.body = rewrite_stmt(copy.body, {}, exprs);
    if (copy.predicate) copy.predicate = rewrite_expr(copy.predicate, exprs);
    return make_stmt(with_inferred_regions(std::move(copy)));
  });
  std::erase(result.allocations, buffer);
  return if_proven(std::move(result), readers, intrinsics, "inline", name, "leave the block where it is");
}

}  // namespace dovetail::schedule
