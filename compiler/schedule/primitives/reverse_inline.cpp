// reverse_inline BLOCK
//
//   P: A[i] = f(X[i])     C: B[j] = g(A[j], Y[j])        ==>   P: B[i] = g(f(X[i]), Y[i]) (reverse_inline C)
//
// Folds a consumer into the store of its producer; the block and the buffer between disappear. Legal where
//  - BLOCK is one plain store over spatial iterators, alone in a nest outside all other loops and conditions, to
//  elements that differ from point to point,
//  - it reads one buffer of a producer at exactly its own iterators, which run over all of it: an allocation that
//  nothing else reads, written by
//    one block alone, by a plain store without reduction that does not read it,
//  - from the producer's nest to BLOCK, nothing touches what BLOCK writes, or writes what else it reads.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_reverse_inline(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  constexpr std::string_view kName = "reverse_inline";
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kName));
  const Block& block = *as_block(path.back());
  DOVETAIL_TRY(require_no_inner_block(block, kName, name));
  DOVETAIL_ASSIGN(const StoreTarget target, require_plain_store(block, kName));
  const std::size_t top = own_nest(path);
  for (std::size_t i = 0; i < top; ++i)
    if (as_for(path[i]) || std::holds_alternative<If>(path[i]->node))
      return refuse(kName, name, "the block shares a loop or a condition with others",
                    "take this step before compute_at and reverse_compute_at");
  if (reads(path.back(), target.buffer.get()))
    return refuse(kName, name, fmt::format("the block reads {}, which it writes", target.buffer->name),
                  "write to another buffer");
  std::set<const VarNode*> moving;
  Bounds bounds;
  for (const Iterator& iterator : block.iterators) {
    bounds[iterator.var.get()] = {0, iterator.extent - 1};
    if (iterator.extent > 1) moving.insert(iterator.var.get());
  }
  for (const Expr& index : target.indices) {
    bool loads = false;
    visit_exprs(index, [&](const Expr& expr) { loads |= std::holds_alternative<LoadExpr>(expr->node); });
    if (loads)
      return refuse(kName, name, fmt::format("where it stores to {} depends on data", target.buffer->name),
                    "leave it where it is");
  }
  if (!tells_apart(target.indices, {}, moving, bounds))
    return refuse(kName, name,
                  fmt::format("its points are not shown to write different elements of {}", target.buffer->name),
                  "leave it where it is");
  if (!runs_over_all(path, block.predicate))
    return refuse(kName, name, "its loops are not shown to run over all values of its iterators",
                  "take this step before splitting or fusing its loops");

  // The producer: the one among the buffers read that is written by a plain block which nothing else reads.
  std::string why = "it reads no buffer that another block computes";
  for (const Region& region : block.reads) {
    const Buffer buffer = region.buffer;
    if (!is_allocation(program, buffer)) continue;
    std::optional<Path> producer;
    std::string others;
    for (const Path& other : blocks_below(program.body)) {
      const Block& b = *as_block(other.back());
      if (b.name != name && !writes(other.back(), buffer.get()) && reads(other.back(), buffer.get()))
        others = fmt::format("block {} reads {} too", b.name, buffer->name);
      if (!writes(other.back(), buffer.get())) continue;
      if (producer)
        others = fmt::format("blocks {} and {} both write {}", as_block(producer->back())->name, b.name, buffer->name);
      producer = other;
    }
    if (!producer) continue;
    if (reads(producer->back(), buffer.get()))
      others = fmt::format("block {} reads {}, which it writes", as_block(producer->back())->name, buffer->name);
    if (in_condition(program.body, buffer)) others = fmt::format("a condition reads {}", buffer->name);
    const Block& made = *as_block(producer->back());
    const auto store_target = require_plain_store(made, kName);
    if (!store_target.ok()) {
      why = store_target.errors()[0].why;
      continue;
    }
    if (!others.empty()) {
      why = others;
      continue;
    }
    // Every load at one place, and each iterator runs over one whole dimension.
    std::optional<std::vector<int>> dimensions;
    bool fits = true;
    visit_exprs(path.back(), [&](const Expr& expr) {
      const auto* access = std::get_if<LoadExpr>(&expr->node);
      if (!access || access->buffer != buffer) return;
      const auto here = dimensions_of(block, access->indices, *buffer);
      fits &= here && one_to_one(block, *here) && (!dimensions || *dimensions == *here);
      dimensions = here;
    });
    for (std::size_t i = 0; fits && dimensions && i < block.iterators.size(); ++i)
      if (const int d = (*dimensions)[i]; d >= 0)
        fits &= block.iterators[i].extent == buffer->shape[static_cast<std::size_t>(d)];
    if (!fits || !dimensions) {
      why = fmt::format("it does not read {} at exactly its own iterators, over all of it", buffer->name);
      continue;
    }
    const std::size_t from = top_position(program, *producer), to = top_position(program, path);
    if (to <= from) {
      why = fmt::format("it comes before block {}", made.name);
      continue;
    }
    const std::vector<Stmt> siblings = statements_of(program.body);
    std::string between;
    for (std::size_t i = from; i < to; ++i) {
      for (const Region& other : block.reads)
        if (other.buffer != buffer && writes(siblings[i], other.buffer.get()))
          between =
              fmt::format("{}, which it reads, is written from the nest of block {} on", other.buffer->name, made.name);
      if (reads(siblings[i], target.buffer.get()) || writes(siblings[i], target.buffer.get()))
        between =
            fmt::format("{}, which it writes, is used from the nest of block {} on", target.buffer->name, made.name);
    }
    if (!between.empty()) {
      why = between;
      continue;
    }

    const VarMap map = iterators_at(block, *dimensions, store_target->indices);
    const auto exprs = [&](const Expr& expr) -> Expr {
      const auto* access = std::get_if<LoadExpr>(&expr->node);
      return access && access->buffer == buffer ? store_target->value : expr;
    };
    // The loads first: what replaces them is in the producer's iterators already.
    Block folded = made;
    std::vector<Expr> indices;
    for (const Expr& index : target.indices) indices.push_back(substitute(index, map));
    folded.body = store(target.buffer, std::move(indices), rewrite_expr(substitute(target.value, map), exprs));
    Program result = program;
    result.body = replace(program.body, producer->back(), make_stmt(with_inferred_regions(std::move(folded))));
    result.body = replace(result.body, path[top], nullptr);
    std::erase(result.allocations, buffer);
    return if_proven(std::move(result), {made.name}, intrinsics, kName, name, "leave it where it is");
  }
  return refuse(kName, name, why, "a reduction keeps its epilogue as a block: move it with reverse_compute_at");
}

}  // namespace dovetail::schedule
