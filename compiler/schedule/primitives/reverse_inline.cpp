// reverse_inline BLOCK
//
//   P: A[i] = f(X[i])     C: B[j] = g(A[j], Y[j])        ==>   P: B[i] = g(f(X[i]), Y[i]) (reverse_inline C)
//
// Folds a consumer into the store of its producer; the block and the intermediate buffer disappear. Legal if
//  - BLOCK is one plain store over spatial iterators, alone in a nest outside all other loops and conditions, to
//    elements that differ from point to point,
//  - it reads one buffer at exactly its own iterators, which run over all of it: an allocation without other readers,
//    written by one block or by several (each of which computes a part of it, and then computes the same part of what
//    BLOCK writes), by plain stores without reduction that do not read it,
//  - from the first producer's nest to BLOCK, no statement accesses what BLOCK writes, or writes its other operands.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kReverseInline = "reverse_inline";

// The target of the block: each of its points once, to elements that differ, outside all other loops and conditions.
Result<StoreTarget> require_foldable(const Path& path) {
  const Block& block = *as_block(path.back());
  const std::string& name = block.name;
  DOVETAIL_TRY(require_no_inner_block(block, kReverseInline, name));
  DOVETAIL_ASSIGN(StoreTarget target, require_plain_store(block, kReverseInline));
  for (std::size_t i = 0; i < own_nest(path); ++i)
    if (as_for(path[i]) || std::holds_alternative<If>(path[i]->node))
      return refuse(kReverseInline, name, "the block shares a loop or a condition with others",
                    "apply this step before compute_at and reverse_compute_at");
  if (reads(path.back(), target.buffer.get()))
    return refuse(kReverseInline, name, fmt::format("the block reads {}, which it writes", target.buffer->name),
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
      return refuse(kReverseInline, name,
                    fmt::format("the index at which the block stores to {} depends on data", target.buffer->name),
                    "leave the block where it is");
  }
  if (!distinguishes(target.indices, {}, moving, bounds))
    return refuse(kReverseInline, name,
                  fmt::format("its iterations do not provably write different elements of {}", target.buffer->name),
                  "leave the block where it is");
  if (!runs_over_all(path, block.predicate))
    return refuse(kReverseInline, name, "the block's loops do not provably cover all values of its iterators",
                  "apply this step before splitting or fusing its loops");
  return target;
}

// The blocks that write `buffer`, which the block `reader` reads. `others` describes other accesses of the buffer.
std::vector<Path> writers_of(const Program& program, const Buffer& buffer, const std::string& reader,
                             std::string& others) {
  std::vector<Path> writers;
  for (const Path& other : blocks_below(program.body)) {
    const Block& b = *as_block(other.back());
    if (b.name != reader && !writes(other.back(), buffer.get()) && reads(other.back(), buffer.get()))
      others = fmt::format("block {} reads {} too", b.name, buffer->name);
    if (!writes(other.back(), buffer.get())) continue;
    if (reads(other.back(), buffer.get()))
      others = fmt::format("block {} reads {}, which it writes", b.name, buffer->name);
    writers.push_back(other);
  }
  if (in_condition(program.body, buffer)) others = fmt::format("a condition reads {}", buffer->name);
  return writers;
}

// For each iterator of the block the dimension of `buffer` that it indexes, if all loads use the same index and each
// iterator runs over one whole dimension.
std::optional<std::vector<int>> whole_dimensions(const Stmt& stmt, const Buffer& buffer) {
  const Block& block = *as_block(stmt);
  std::optional<std::vector<int>> dimensions;
  bool fits = true;
  visit_exprs(stmt, [&](const Expr& expr) {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    if (!access || access->buffer != buffer) return;
    const auto here = dimensions_of(block, access->indices, *buffer);
    fits &= here && one_to_one(block, *here) && (!dimensions || *dimensions == *here);
    dimensions = here;
  });
  for (std::size_t i = 0; fits && dimensions && i < block.iterators.size(); ++i)
    if (const int d = (*dimensions)[i]; d >= 0)
      fits &= block.iterators[i].extent == buffer->shape[static_cast<std::size_t>(d)];
  return fits ? dimensions : std::nullopt;
}

// Empty if, from the producer's nest to the block's, no statement accesses `target` or writes the block's other
// operands; else describes the access.
std::string touched_between(const Program& program, const Path& producer, const Path& path, const Buffer& buffer,
                            const Buffer& target) {
  const std::string& made = as_block(producer.back())->name;
  const std::vector<Stmt> siblings = statements_of(program.body);
  std::string between;
  for (std::size_t i = top_position(program, producer); i < top_position(program, path); ++i) {
    for (const Region& other : as_block(path.back())->reads)
      if (other.buffer != buffer && writes(siblings[i], other.buffer.get()))
        between = fmt::format("{}, which it reads, is written from the nest of block {} on", other.buffer->name, made);
    if (reads(siblings[i], target.get()) || writes(siblings[i], target.get()))
      between = fmt::format("{}, which it writes, is used from the nest of block {} on", target->name, made);
  }
  return between;
}

// A block that computes a buffer, or a part of it, that only the folded block reads.
struct Producer {
  Path path;
  StoreTarget made;             // by its plain store
  std::vector<int> dimensions;  // of the buffer, for each iterator of the folded block
};

// Empty: `why` has the reason, if a block writes `buffer` at all.
std::vector<Producer> producers_of(const Program& program, const Path& path, const Buffer& buffer, const Buffer& target,
                                   std::string& why) {
  std::string others;
  std::vector<Producer> producers;
  for (const Path& writer : writers_of(program, buffer, as_block(path.back())->name, others)) {
    const Block& producer = *as_block(writer.back());
    const auto made = require_plain_store(producer, kReverseInline);
    const auto dimensions = whole_dimensions(path.back(), buffer);
    if (!made.ok()) why = made.errors()[0].why;
    else if (!others.empty()) why = others;
    else if (!dimensions)
      why = fmt::format("the block does not read all of {} at exactly its own iterators", buffer->name);
    else if (top_position(program, path) <= top_position(program, writer))
      why = fmt::format("the block comes before block {}", producer.name);
    else if (const std::string between = touched_between(program, writer, path, buffer, target); !between.empty())
      why = between;
    else {
      producers.push_back({writer, *made, *dimensions});
      continue;
    }
    return {};
  }
  return producers;
}

// The producer, storing to `target` the values of `block`.
Block folded(const Block& block, const StoreTarget& target, const Producer& producer) {
  const VarMap map = iterators_at(block, producer.dimensions, producer.made.indices);
  const auto exprs = [&](const Expr& expr) -> Expr {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    return access && access->buffer == producer.made.buffer ? producer.made.value : expr;
  };
  // The loads first: their replacements are already in the producer's iterators.
  Block result = *as_block(producer.path.back());
  std::vector<Expr> indices;
  for (const Expr& index : target.indices) indices.push_back(substitute(index, map));
  result.body = store(target.buffer, std::move(indices), rewrite_expr(substitute(target.value, map), exprs));
  return with_inferred_regions(std::move(result));
}

}  // namespace

Result<Program> apply_reverse_inline(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kReverseInline));
  const Block& block = *as_block(path.back());
  DOVETAIL_ASSIGN(const StoreTarget target, require_foldable(path));
  std::string why = "the block reads no buffer that another block computes";
  for (const Region& region : block.reads) {
    if (!is_allocation(program, region.buffer)) continue;
    const std::vector<Producer> producers = producers_of(program, path, region.buffer, target.buffer, why);
    if (producers.empty()) continue;
    Program result = program;
    std::set<std::string> changed;
    for (const Producer& producer : producers) {
      result.body = replace(result.body, producer.path.back(), make_stmt(folded(block, target, producer)));
      changed.insert(as_block(producer.path.back())->name);
    }
    result.body = replace(result.body, path[own_nest(path)], nullptr);
    std::erase(result.allocations, region.buffer);
    return if_proven(std::move(result), changed, intrinsics, kReverseInline, name, "leave the block where it is");
  }
  return refuse(kReverseInline, name, why,
                "the epilogue of a reduction remains a block: move it with reverse_compute_at");
}

}  // namespace dovetail::schedule
