// compute_at BLOCK LOOP
//
//   for i in 8 { P: A[i] = f(i) }                              for y in 2 {
//   for y in 2 { for x in 4 { C: .. = g(A[y * 4 + x]) } }  ==>    for i in 4 { P: A[y * 4 + i] = f(y * 4 + i) }
//                                                                 for x in 4 { C: .. = g(A[y * 4 + x]) } } (compute_at
//                                                                 P y)
//
// Moves a producer into LOOP of its consumers, where it computes just what one iteration of LOOP reads. Its loops are
// made again: one per iterator, named as before. Legal where
//  - BLOCK is alone in its nest, is not inside LOOP yet, has no ordered iterators and writes one allocation, each
//  element once (its indices are distinct spatial iterators),
//  - every reader of that buffer lies inside LOOP, and the nest of BLOCK comes before LOOP,
//  - what BLOCK reads is not written between its old place and the end of the nest that holds LOOP,
//  - the loops of BLOCK run over all values of its iterators, but for what a predicate in the iterators masks.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/region.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_compute_at(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string& name = step.arguments[0];
  const std::string& loop_name = step.arguments[1];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, "compute_at"));
  DOVETAIL_ASSIGN(const Path target, require_loop(program, loop_name, "compute_at"));
  const Block& block = *as_block(path.back());
  DOVETAIL_TRY(require_no_inner_block(block, "compute_at", name));

  const std::size_t top = own_nest(path);
  const Stmt nest = path[top];
  if (std::find(target.begin(), target.end(), nest) != target.end())
    return refuse("compute_at", name, fmt::format("loop {} belongs to the block's own nest", loop_name),
                  "name a loop of its consumer");
  for (std::size_t i = 0; i < top; ++i)
    if (std::holds_alternative<If>(path[i]->node) && std::find(target.begin(), target.end(), path[i]) == target.end())
      return refuse("compute_at", name,
                    fmt::format("the block lies under a condition, and loop {} does not", loop_name),
                    "name a loop under it");
  for (std::size_t i = 0; i < top; ++i)
    if (as_for(path[i]) && std::find(target.begin(), target.end(), path[i]) == target.end())
      return refuse(
          "compute_at", name,
          fmt::format("the block lies inside loop {}, and {} does not", as_for(path[i])->var->name, loop_name),
          "name a loop inside it");

  if (block.writes.size() != 1)
    return refuse("compute_at", name, fmt::format("the block writes {} buffers, not 1", block.writes.size()),
                  "move a block with one result");
  const Buffer buffer = block.writes[0].buffer;
  if (!is_allocation(program, buffer))
    return refuse("compute_at", name,
                  fmt::format("{} is an output of the program, every element of which must be computed", buffer->name),
                  "move the producer of an intermediate buffer");
  const auto* assignment = std::get_if<Store>(&block.body->node);
  const bool plain = assignment && assignment->targets.size() == 1 && assignment->targets[0].buffer == buffer;
  const auto dimensions = plain ? dimensions_of(block, assignment->targets[0].indices, *buffer) : std::nullopt;
  if (!dimensions || !one_to_one(block, *dimensions))
    return refuse("compute_at", name,
                  fmt::format("the indices of {} are not distinct spatial iterators of the block", buffer->name),
                  "apply transform_layout and tensorize after compute_at");
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::ordered)
      return refuse("compute_at", name, "the block has ordered iterators", "leave it where it is");

  // Readers and writers elsewhere.
  const Stmt loop_stmt = target.back();
  for (const Path& other : blocks_below(program.body)) {
    const Block& b = *as_block(other.back());
    if (b.name == name) continue;
    const bool inside = std::find(other.begin(), other.end(), loop_stmt) != other.end();
    if (!inside && reads(other.back(), buffer.get()))
      return refuse("compute_at", name,
                    fmt::format("block {}, which reads {}, lies outside of loop {}", b.name, buffer->name, loop_name),
                    "name a loop around all readers");
    if (writes(other.back(), buffer.get()))
      return refuse("compute_at", name, fmt::format("block {} writes {} too", b.name, buffer->name),
                    "move a block that alone writes its buffer");
  }

  const Stmt others = replace(program.body, loop_stmt, nullptr);
  if (others && reads(replace(others, nest, nullptr), buffer.get()))
    return refuse("compute_at", name, fmt::format("a condition outside of loop {} reads {}", loop_name, buffer->name),
                  "name a loop around all readers");

  const For& loop = *as_for(loop_stmt);
  std::vector<Stmt> body = statements_of(loop.body);
  if (!reads(loop.body, buffer.get()))
    return refuse("compute_at", name, fmt::format("nothing inside loop {} reads {}", loop_name, buffer->name),
                  "name a loop of its consumer");

  // Order: the nest comes before the loop, and nothing that it reads is written between the two places.
  const auto fork =
      std::mismatch(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(top) + 1, target.begin(), target.end());
  const Stmt common = *(fork.first - 1);
  if (!std::holds_alternative<Sequence>(common->node))
    return refuse("compute_at", name, fmt::format("the block and loop {} are branches of one condition", loop_name),
                  "name a loop of the same branch");
  const std::vector<Stmt> siblings = statements_of(common);
  const auto from = std::find(siblings.begin(), siblings.end(), *fork.first),
             to = std::find(siblings.begin(), siblings.end(), *fork.second);
  if (to < from)
    return refuse("compute_at", name, fmt::format("the block comes after loop {}", loop_name),
                  "name a loop of a later consumer");
  for (const Region& region : block.reads) {
    if (region.buffer == buffer) continue;
    const auto stale = [&](const Stmt& stmt) { return writes(stmt, region.buffer.get()); };
    const bool between = std::any_of(from + 1, to, stale);
    if (between || stale(*to))
      return refuse("compute_at", name,
                    fmt::format("{}, which it reads, is written on the way to loop {}", region.buffer->name, loop_name),
                    "move the producer of that buffer first, or choose an outer loop");
  }

  // Its own loops go: what the predicate says about them must follow from the iterators. And they must run over all
  // values of the iterators, since the new ones may compute elements in between those that are read. (A nest that was
  // moved before computes what readers span already.)
  const Path own(path.begin() + static_cast<std::ptrdiff_t>(top), path.end());
  const FreePredicate predicate = free_predicate(path, top);
  if (predicate.about_loops)
    return refuse("compute_at", name,
                  fmt::format("its predicate {} is about its own loops, which are made again",
                              loops::to_string(predicate.about_loops)),
                  "move the block before splitting its loops");
  if (loops_of(path).size() == loops_of(own).size() && !runs_over_all(own, nullptr))
    return refuse("compute_at", name, "its loops are not shown to run over all values of its iterators",
                  "move the block before splitting or fusing its loops");

  // What one iteration needs.
  std::vector<const For*> outside = loops_of(target);
  const Box box = touched_box(accesses(loop.body, buffer.get(), outside), *buffer, outside);
  std::vector<RangeExpr> part;
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const int d = (*dimensions)[i];
    const std::int64_t extent = block.iterators[i].extent;
    const bool whole = d < 0 || (box[static_cast<std::size_t>(d)].extent >= extent &&
                                 !std::holds_alternative<IntImm>(box[static_cast<std::size_t>(d)].min->node));
    part.push_back(whole ? RangeExpr{int_imm(0), extent} : box[static_cast<std::size_t>(d)]);
  }
  Block moved = block;
  moved.predicate = predicate.kept;
  Stmt stmt = nest_over(program, std::move(moved), nest, part, outside);
  // At the start of the body: producers moved one by one, last first, keep their order, on which operations in place
  // rely.
  body.insert(body.begin(), stmt);

  For new_loop = loop;
  new_loop.body = sequence(std::move(body));
  Program result = program;
  result.body = replace(program.body, loop_stmt, make_stmt(std::move(new_loop)));
  result.body = replace(result.body, nest, nullptr);
  return result;
}

}  // namespace dovetail::schedule
