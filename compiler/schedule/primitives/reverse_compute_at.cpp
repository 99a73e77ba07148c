// reverse_compute_at BLOCK LOOP
//
//   for y in 2 { for x in 4 { for k { P: A[y * 4 + x] += f(..) } } }       for y in 2 {
//   for i in 8 { C: B[i] = relu(A[i]) }                               ==>     for x in 4 { for k { P: A[y * 4 + x] +=
//   f(..) } }
//                                                                             for i in 4 { C: B[y * 4 + i] = relu(A[y *
//                                                                             4 + i]) } }      (reverse_compute_at C y)
//
// Moves a consumer to the end of LOOP of its producer: after each iteration it runs on the elements that this iteration
// completed, so that each of its points runs once. Its loops are made again: one per iterator, named as before. Where
// the producer's tile sticks out at an edge, a predicate masks the consumer as well. Legal where
//  - BLOCK is a plain store over spatial iterators, alone in a nest outside all other loops and conditions, and does
//  not read what it writes,
//  - LOOP computes exactly one of the buffers that it reads; BLOCK reads that one at distinct iterators of its own,
//  everywhere in the same way,
//  - all writers of that buffer lie inside LOOP, one of them is shown to write all of it, and what different iterations
//  of LOOP and the loops
//    around write lies apart: so that what one iteration leaves is final (loops of a reduction outside of LOOP break
//    this),
//  - from LOOP's nest to BLOCK, nothing else touches what BLOCK writes, or writes what it reads.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/dependence.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kName = "reverse_compute_at";

// The one buffer that the block reads and LOOP computes.
Result<Buffer> produced(const Block& block, const For& loop) {
  Buffer found;
  for (const Region& region : block.reads) {
    if (!writes(loop.body, region.buffer.get()) || region.buffer == found) continue;
    if (found)
      return refuse(kName, block.name,
                    fmt::format("loop {} computes both {} and {}, which it reads", loop.var->name, found->name,
                                region.buffer->name),
                    "name a loop that computes one of them");
    found = region.buffer;
  }
  if (!found)
    return refuse(kName, block.name, fmt::format("loop {} computes nothing that it reads", loop.var->name),
                  "name a loop of its producer");
  return found;
}

// For each iterator the dimension of `buffer` that it indexes in all loads of the block; nullopt where they differ or
// are of another form.
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

}  // namespace

Result<Program> apply_reverse_compute_at(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& name = step.arguments[0];
  const std::string& loop_name = step.arguments[1];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kName));
  DOVETAIL_ASSIGN(const Path target, require_loop(program, loop_name, kName));
  const Block& block = *as_block(path.back());
  const For& loop = *as_for(target.back());
  DOVETAIL_TRY(require_no_inner_block(block, kName, name));

  const std::size_t top = own_nest(path);
  if (std::find(target.begin(), target.end(), path[top]) != target.end())
    return refuse(kName, name, fmt::format("loop {} belongs to the block's own nest", loop_name),
                  "name a loop of its producer");
  for (std::size_t i = 0; i < top; ++i) {
    if (as_for(path[i]))
      return refuse(kName, name, fmt::format("the block shares loop {} with other blocks", as_for(path[i])->var->name),
                    "move it before others are moved to it");
    if (std::holds_alternative<If>(path[i]->node))
      return refuse(kName, name, "the block lies under a condition", "leave it where it is");
  }
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind != IterKind::spatial)
      return refuse(
          kName, name,
          fmt::format("iterator {} of the block is {}, not spatial", iterator.var->name, loops::name(iterator.kind)),
          "move blocks that compute each element by itself");
  if (block.init || !std::holds_alternative<Store>(block.body->node))
    return refuse(kName, name, "the block is no plain store", "move it before tensorize");
  for (const Region& written : block.writes)
    if (reads(path.back(), written.buffer.get()))
      return refuse(kName, name, fmt::format("the block reads {}, which it writes", written.buffer->name),
                    "write to another buffer");

  DOVETAIL_ASSIGN(const Buffer buffer, produced(block, loop));
  const auto dimensions = read_dimensions(path.back(), buffer);
  if (!dimensions)
    return refuse(kName, name,
                  fmt::format("the block does not read {} everywhere at the same distinct iterators", buffer->name),
                  "move the producer to the block with compute_at");

  bool whole = false;
  for (const Path& other : blocks_below(program.body)) {
    if (!writes(other.back(), buffer.get())) continue;
    if (std::find(other.begin(), other.end(), target.back()) == other.end())
      return refuse(kName, name,
                    fmt::format("block {}, which writes {}, lies outside of loop {}", as_block(other.back())->name,
                                buffer->name, loop_name),
                    "name a loop around all writers");
    whole |= writes_whole(other, *buffer);
  }
  if (!whole)
    return refuse(kName, name, fmt::format("no block inside {} is shown to write all of {}", loop_name, buffer->name),
                  "take this step before its producer is tensorized or masked");
  const std::vector<const For*> outside = loops_of(target);
  std::vector<AccessBox> written = accesses(loop.body, buffer.get(), outside);
  std::erase_if(written, [](const AccessBox& box) { return !box.access.write; });
  if (!disjoint_hulls(written, outside, outside))
    return refuse(
        kName, name,
        fmt::format("iterations of {} and the loops around it are not shown to write elements of {} that lie apart",
                    loop_name, buffer->name),
        "name a loop outside of all loops of the reduction, in whose iterations whole tiles are computed");

  // Between: from the nest of LOOP on.
  const std::size_t from = top_position(program, target), to = top_position(program, path);
  if (to <= from)
    return refuse(kName, name, fmt::format("the block comes before loop {}", loop_name), "name a loop of its producer");
  const std::vector<Stmt> siblings = statements_of(program.body);
  for (std::size_t i = from; i < to; ++i) {
    for (const Region& region : block.reads)
      if (region.buffer != buffer && writes(siblings[i], region.buffer.get()))
        return refuse(
            kName, name,
            fmt::format("{}, which the block reads, is written from the nest of {} on", region.buffer->name, loop_name),
            "move the block before the producers of its other operands, or name a loop of the last of them");
    for (const Region& region : block.writes)
      if (reads(siblings[i], region.buffer.get()) || writes(siblings[i], region.buffer.get()))
        return refuse(
            kName, name,
            fmt::format("{}, which the block writes, is used from the nest of {} on", region.buffer->name, loop_name),
            "write to another buffer");
  }

  const FreePredicate predicate = free_predicate(path, top);
  if (predicate.about_loops)
    return refuse(kName, name,
                  fmt::format("its predicate {} is about its own loops, which are made again",
                              loops::to_string(predicate.about_loops)),
                  "move the block before splitting its loops");
  const Path own(path.begin() + static_cast<std::ptrdiff_t>(top), path.end());
  if (!runs_over_all(own, nullptr))
    return refuse(kName, name, "its loops are not shown to run over all values of its iterators",
                  "move the block before splitting or fusing its loops");

  const Hull hull = hull_of(written, vars_of(outside));
  std::vector<RangeExpr> part;
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const int d = (*dimensions)[i];
    const auto span = d < 0 ? std::nullopt : hull[static_cast<std::size_t>(d)];
    if (!span) part.push_back({int_imm(0), block.iterators[i].extent});
    else part.push_back({simplify(to_expr(span->base) + span->low, bounds_of(outside)), span->high - span->low + 1});
  }
  Block moved = block;
  moved.predicate = predicate.kept;
  std::vector<Stmt> body = statements_of(loop.body);
  body.push_back(nest_over(program, std::move(moved), path[top], part, outside));

  For new_loop = loop;
  new_loop.body = sequence(std::move(body));
  Program result = program;
  result.body = replace(program.body, target.back(), make_stmt(std::move(new_loop)));
  result.body = replace(result.body, path[top], nullptr);
  return if_proven(std::move(result), {name}, intrinsics, kName, name,
                   "move it before its producer's loops are split and fused");
}

}  // namespace dovetail::schedule
