// reverse_compute_at BLOCK LOOP
//
//   for y in 2 { for x in 4 { for k { P: A[y * 4 + x] += f(..) } } }
//   for i in 8 { C: B[i] = relu(A[i]) }
//   ==>  for y in 2 {
//          for x in 4 { for k { P: A[y * 4 + x] += f(..) } }
//          for i in 4 { C: B[y * 4 + i] = relu(A[y * 4 + i]) } }                           (reverse_compute_at C y)
//
// Moves a consumer to the end of LOOP of its producer: after each iteration it runs on the elements that this iteration
// completed, so that each of its points runs once. Its loops are rebuilt: one per iterator, named as before. If the
// producer's tile extends beyond an edge, a predicate also masks the consumer. Legal if
//  - BLOCK is a plain store over spatial iterators, alone in a nest outside all other loops and conditions, and does
//    not read what it writes,
//  - LOOP computes exactly one of the buffers that it reads; BLOCK reads that one at distinct own iterators, at all
//    loads in the same way, within its bounds (a select may guard loads outside),
//  - all writers of that buffer are inside LOOP, one of them provably writes all of it, and different iterations of
//    LOOP and its enclosing loops write disjoint elements: so that the results of one iteration are final (loops of a
//    reduction outside of LOOP violate this),
//  - from LOOP's nest to BLOCK, no other statement accesses what BLOCK writes, or writes what it reads.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/dependence.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kReverseComputeAt = "reverse_compute_at";

// The single buffer that the block reads and LOOP computes.
Result<Buffer> produced(const Block& block, const For& loop) {
  Buffer found;
  for (const Region& region : block.reads) {
    if (!writes(loop.body, region.buffer.get()) || region.buffer == found) continue;
    if (found)
      return refuse(kReverseComputeAt, block.name,
                    fmt::format("loop {} computes both {} and {}, which the block reads", loop.var->name, found->name,
                                region.buffer->name),
                    "name a loop that computes one of them");
    found = region.buffer;
  }
  if (!found)
    return refuse(kReverseComputeAt, block.name,
                  fmt::format("loop {} computes nothing that the block reads", loop.var->name),
                  "name a loop of the block's producer");
  return found;
}

// For each iterator the dimension of `buffer` that it indexes in all loads of the block; nullopt if they differ or are
// of another form.
std::optional<std::vector<int>> read_dimensions(const Stmt& stmt, const Buffer& buffer) {
  std::optional<std::vector<Expr>> indices;
  bool same = true;
  visit_exprs(stmt, [&](const Expr& expr) {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    if (!access || access->buffer != buffer) return;
    if (!indices) indices = access->indices;
    same &= std::equal(indices->begin(), indices->end(), access->indices.begin(), access->indices.end(),
                       structurally_equal);
  });
  if (!indices || !same) return std::nullopt;
  return dimensions_of(*as_block(stmt), *indices, *buffer);
}

// A plain store over spatial iterators, alone in a nest outside all other loops and conditions.
Result<void> require_movable(const Path& path, std::size_t top, const Path& target) {
  const Block& block = *as_block(path.back());
  if (std::find(target.begin(), target.end(), path[top]) != target.end())
    return refuse(kReverseComputeAt, block.name,
                  fmt::format("loop {} belongs to the block's own nest", as_for(target.back())->var->name),
                  "name a loop of its producer");
  for (std::size_t i = 0; i < top; ++i) {
    if (as_for(path[i]))
      return refuse(kReverseComputeAt, block.name,
                    fmt::format("the block shares loop {} with other blocks", as_for(path[i])->var->name),
                    "move this block before moving others to it");
    if (std::holds_alternative<If>(path[i]->node))
      return refuse(kReverseComputeAt, block.name, "the block is under a condition", "leave the block where it is");
  }
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind != IterKind::spatial)
      return refuse(
          kReverseComputeAt, block.name,
          fmt::format("iterator {} of the block is {}, not spatial", iterator.var->name, loops::name(iterator.kind)),
          "move elementwise blocks");
  if (block.init || !std::holds_alternative<Store>(block.body->node))
    return refuse(kReverseComputeAt, block.name, "the block is not a plain store", "move the block before tensorize");
  for (const Region& written : block.writes)
    if (reads(path.back(), written.buffer.get()))
      return refuse(kReverseComputeAt, block.name,
                    fmt::format("the block reads {}, which it writes", written.buffer->name),
                    "write to another buffer");
  return {};
}

// The results of one iteration of LOOP in the buffer are final, and all iterations together write all of it. Returns
// the written elements.
Result<std::vector<AccessBox>> require_final(const Program& program, const std::string& name, const Path& target,
                                             const Buffer& buffer) {
  const For& loop = *as_for(target.back());
  bool whole = false;
  for (const Path& other : blocks_below(program.body)) {
    if (!writes(other.back(), buffer.get())) continue;
    if (std::find(other.begin(), other.end(), target.back()) == other.end())
      return refuse(kReverseComputeAt, name,
                    fmt::format("block {}, which writes {}, is outside of loop {}", as_block(other.back())->name,
                                buffer->name, loop.var->name),
                    "name a loop that encloses all writers");
    whole |= writes_whole(other, *buffer);
  }
  if (!whole)
    return refuse(kReverseComputeAt, name,
                  fmt::format("no block inside {} provably writes all of {}", loop.var->name, buffer->name),
                  "apply this step before the producer is tensorized or masked");
  const std::vector<const For*> outside = loops_of(target);
  std::vector<AccessBox> written = accesses(loop.body, buffer.get(), outside);
  std::erase_if(written, [](const AccessBox& box) { return !box.access.write; });
  if (!disjoint_hulls(written, outside, outside))
    return refuse(kReverseComputeAt, name,
                  fmt::format("iterations of {} and its enclosing loops do not provably write disjoint elements of {}",
                              loop.var->name, buffer->name),
                  "name a loop outside all loops of the reduction, each iteration of which computes whole tiles");
  return written;
}

// From the nest of LOOP to the block, no statement accesses what the block writes, or writes what it reads except
// `buffer`.
Result<void> require_free_way(const Program& program, const Path& path, const Path& target, const Buffer& buffer) {
  const Block& block = *as_block(path.back());
  const std::string& loop = as_for(target.back())->var->name;
  const std::size_t from = top_position(program, target), to = top_position(program, path);
  if (to <= from)
    return refuse(kReverseComputeAt, block.name, fmt::format("the block comes before loop {}", loop),
                  "name a loop of its producer");
  const std::vector<Stmt> siblings = statements_of(program.body);
  for (std::size_t i = from; i < to; ++i) {
    for (const Region& region : block.reads)
      if (region.buffer != buffer && writes(siblings[i], region.buffer.get()))
        return refuse(
            kReverseComputeAt, block.name,
            fmt::format("{}, which the block reads, is written in or after the nest of {}", region.buffer->name, loop),
            "move the block before the producers of its other operands, or name a loop of the last producer");
    for (const Region& region : block.writes)
      if (reads(siblings[i], region.buffer.get()) || writes(siblings[i], region.buffer.get()))
        return refuse(
            kReverseComputeAt, block.name,
            fmt::format("{}, which the block writes, is used in or after the nest of {}", region.buffer->name, loop),
            "write to another buffer");
  }
  return {};
}

// The block's part that one iteration of the loops `outside` completes, as ranges of its iterators: the written
// elements.
std::vector<RangeExpr> completed_part(const Block& block, const std::vector<int>& dimensions,
                                      const std::vector<AccessBox>& written, const std::vector<const For*>& outside) {
  const Hull hull = hull_of(written, vars_of(outside));
  std::vector<RangeExpr> part;
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const int d = dimensions[i];
    const auto span = d < 0 ? std::nullopt : hull[static_cast<std::size_t>(d)];
    if (!span) part.push_back({int_imm(0), block.iterators[i].extent});
    else part.push_back({simplify(to_expr(span->base) + span->low, bounds_of(outside)), span->high - span->low + 1});
  }
  return part;
}

}  // namespace

Result<Program> apply_reverse_compute_at(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kReverseComputeAt));
  DOVETAIL_ASSIGN(const Path target, require_loop(program, step.arguments[1], kReverseComputeAt));
  const Block& block = *as_block(path.back());
  For loop = *as_for(target.back());
  DOVETAIL_TRY(require_no_inner_block(block, kReverseComputeAt, name));
  const std::size_t top = own_nest(path);
  DOVETAIL_TRY(require_movable(path, top, target));
  DOVETAIL_ASSIGN(const Buffer buffer, produced(block, loop));
  const auto dimensions = read_dimensions(path.back(), buffer);
  if (!dimensions)
    return refuse(kReverseComputeAt, name,
                  fmt::format("the block does not read {} at the same distinct iterators everywhere", buffer->name),
                  "move the producer to the block with compute_at");
  for (std::size_t i = 0; i < block.iterators.size(); ++i)
    if (const int d = (*dimensions)[i];
        d >= 0 && block.iterators[i].extent > buffer->shape[static_cast<std::size_t>(d)])
      return refuse(kReverseComputeAt, name,
                    fmt::format("the block's iterator {} has {} values, but dimension {} of {} has {} elements",
                                block.iterators[i].var->name, block.iterators[i].extent, d, buffer->name,
                                buffer->shape[static_cast<std::size_t>(d)]),
                    "move the producer to the block with compute_at, or inline it");
  DOVETAIL_ASSIGN(const std::vector<AccessBox> written, require_final(program, name, target, buffer));
  DOVETAIL_TRY(require_free_way(program, path, target, buffer));
  Block moved = block;
  DOVETAIL_ASSIGN(moved.predicate, require_free_predicate(path, top, kReverseComputeAt));
  if (!runs_over_all(Path(path.begin() + static_cast<std::ptrdiff_t>(top), path.end()), nullptr))
    return refuse(kReverseComputeAt, name, "the block's loops do not provably cover all values of its iterators",
                  "move the block before splitting or fusing its loops");

  const std::vector<const For*> outside = loops_of(target);
  const std::vector<RangeExpr> part = completed_part(block, *dimensions, written, outside);
  std::vector<Stmt> body = statements_of(loop.body);
  body.push_back(nest_over(program, std::move(moved), path[top], part, outside));
  loop.body = sequence(std::move(body));
  Program result = program;
  result.body = replace(program.body, target.back(), make_stmt(std::move(loop)));
  result.body = replace(result.body, path[top], nullptr);
  return if_proven(std::move(result), {name}, intrinsics, kReverseComputeAt, name,
                   "move it before its producer's loops are split and fused");
}

}  // namespace dovetail::schedule
