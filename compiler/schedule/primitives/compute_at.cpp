// compute_at BLOCK LOOP
//
//   for i in 8 { P: A[i] = f(i) }
//   for y in 2 { for x in 4 { C: .. = g(A[y * 4 + x]) } }
//   ==>  for y in 2 {
//          for i in 4 { P: A[y * 4 + i] = f(y * 4 + i) }
//          for x in 4 { C: .. = g(A[y * 4 + x]) } }                                                (compute_at P y)
//
// Moves a producer into LOOP of its consumers, where it computes only what one iteration of LOOP reads. Its loops are
// rebuilt: one per iterator, named as before. Legal if
//  - BLOCK is alone in its nest, is not inside LOOP yet, has no ordered iterators and writes one allocation, or the
//    parts of a tuple to one each, each element once (its indices are distinct spatial iterators),
//  - every reader of those buffers is inside LOOP, and the nest of BLOCK comes before LOOP,
//  - the operands of BLOCK are not written between its old place and the end of the nest that contains LOOP,
//  - the loops of BLOCK run over all values of its iterators, except those that a predicate in the iterators masks; or,
//    if it is in a nest with blocks that write its operands, it provably computes nothing new there.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/region.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kComputeAt = "compute_at";

// All statements around the block's own nest, which begins at path[top], also enclose LOOP.
Result<void> require_reachable(const Path& path, std::size_t top, const Path& target) {
  const std::string &name = as_block(path.back())->name, &loop = as_for(target.back())->var->name;
  const auto around_loop = [&](const Stmt& stmt) {
    return std::find(target.begin(), target.end(), stmt) != target.end();
  };
  if (around_loop(path[top]))
    return refuse(kComputeAt, name, fmt::format("loop {} belongs to the block's own nest", loop),
                  "name a loop of the block's consumer");
  for (std::size_t i = 0; i < top; ++i)
    if (std::holds_alternative<If>(path[i]->node) && !around_loop(path[i]))
      return refuse(kComputeAt, name, fmt::format("the block is under a condition, but loop {} is not", loop),
                    "name a loop under the condition");
  for (std::size_t i = 0; i < top; ++i)
    if (as_for(path[i]) && !around_loop(path[i]))
      return refuse(kComputeAt, name,
                    fmt::format("the block is inside loop {}, but {} is not", as_for(path[i])->var->name, loop),
                    "name a loop inside that loop");
  return {};
}

// The results of the block: each element of its allocations once, of all of them at one position.
struct Product {
  std::vector<Buffer> buffers;
  std::vector<int> dimensions;  // for each iterator the dimension that it indexes, -1 for none
};

Result<Product> require_product(const Program& program, const Block& block) {
  const auto* assignment = std::get_if<Store>(&block.body->node);
  const auto* start = block.init ? std::get_if<Store>(&block.init->node) : nullptr;
  Product product;
  for (const Region& region : block.writes) {
    if (std::find(product.buffers.begin(), product.buffers.end(), region.buffer) != product.buffers.end()) continue;
    product.buffers.push_back(region.buffer);
  }
  if (product.buffers.size() != 1 && (!assignment || assignment->targets.size() != product.buffers.size() ||
                                      (start && start->targets.size() != product.buffers.size())))
    return refuse(kComputeAt, block.name,
                  fmt::format("the block writes {} buffers, but must write 1", block.writes.size()),
                  "move a block with one result");
  for (const Buffer& buffer : product.buffers) {
    if (!is_allocation(program, buffer))
      return refuse(kComputeAt, block.name,
                    fmt::format("{} is an output of the program, so every element must be computed", buffer->name),
                    "move the producer of an intermediate buffer");
    std::optional<std::vector<int>> dimensions;
    if (assignment && assignment->targets.size() == product.buffers.size())
      for (const StoreTarget& target : assignment->targets)
        if (target.buffer == buffer) dimensions = dimensions_of(block, target.indices, *buffer);
    if (!dimensions || !one_to_one(block, *dimensions) ||
        (buffer != product.buffers[0] && *dimensions != product.dimensions))
      return refuse(kComputeAt, block.name,
                    fmt::format("the indices of {} are not distinct spatial iterators of the block", buffer->name),
                    "apply transform_layout and tensorize after compute_at");
    product.dimensions = *std::move(dimensions);
  }
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::ordered)
      return refuse(kComputeAt, block.name, "the block has ordered iterators", "leave the block where it is");
  return product;
}

// Blocks and conditions that read a buffer are inside LOOP; only the block writes it.
Result<void> require_readers_inside(const Program& program, const Path& path, std::size_t top, const Stmt& loop_stmt,
                                    const Buffer& buffer) {
  const std::string& name = as_block(path.back())->name;
  const std::string& loop_name = as_for(loop_stmt)->var->name;
  for (const Path& other : blocks_below(program.body)) {
    const Block& b = *as_block(other.back());
    if (b.name == name) continue;
    const bool inside = std::find(other.begin(), other.end(), loop_stmt) != other.end();
    if (!inside && reads(other.back(), buffer.get()))
      return refuse(kComputeAt, name,
                    fmt::format("block {}, which reads {}, is outside of loop {}", b.name, buffer->name, loop_name),
                    "name a loop that encloses all readers");
    if (writes(other.back(), buffer.get()))
      return refuse(kComputeAt, name, fmt::format("block {} also writes {}", b.name, buffer->name),
                    "move a block that is the only writer of its buffer");
  }
  const Stmt others = replace(program.body, loop_stmt, nullptr);
  if (others && reads(replace(others, path[top], nullptr), buffer.get()))
    return refuse(kComputeAt, name, fmt::format("a condition outside of loop {} reads {}", loop_name, buffer->name),
                  "name a loop that encloses all readers");
  return {};
}

// The nest comes before the loop, and the block's operands are not written between the two places.
Result<void> require_same_operands(const Path& path, std::size_t top, const Path& target,
                                   const std::vector<Buffer>& own) {
  const Block& block = *as_block(path.back());
  const std::string& loop = as_for(target.back())->var->name;
  const auto fork =
      std::mismatch(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(top) + 1, target.begin(), target.end());
  const Stmt common = *(fork.first - 1);
  if (!std::holds_alternative<Sequence>(common->node))
    return refuse(kComputeAt, block.name, fmt::format("the block and loop {} are branches of one condition", loop),
                  "name a loop of the same branch");
  const std::vector<Stmt> siblings = statements_of(common);
  const auto from = std::find(siblings.begin(), siblings.end(), *fork.first),
             to = std::find(siblings.begin(), siblings.end(), *fork.second);
  if (to < from)
    return refuse(kComputeAt, block.name, fmt::format("the block comes after loop {}", loop),
                  "name a loop of a later consumer");
  for (const Region& region : block.reads) {
    if (std::find(own.begin(), own.end(), region.buffer) != own.end()) continue;
    const auto stale = [&](const Stmt& stmt) { return writes(stmt, region.buffer.get()); };
    if (std::any_of(from + 1, to, stale) || stale(*to))
      return refuse(
          kComputeAt, block.name,
          fmt::format("{}, which the block reads, is written between the block and loop {}", region.buffer->name, loop),
          "move the producer of that buffer first, or choose an outer loop");
  }
  return {};
}

// The values that one iteration of LOOP needs, as ranges of the block's iterators. `read`: the buffers that are read.
std::vector<RangeExpr> needed_part(const Block& block, const Product& product, const std::vector<Buffer>& read,
                                   const Path& target) {
  const std::vector<const For*> outside = loops_of(target);
  std::vector<AccessBox> needed;
  for (const Buffer& buffer : read)
    for (AccessBox& box : accesses(as_for(target.back())->body, buffer.get(), outside))
      needed.push_back(std::move(box));
  const Box box = touched_box(needed, *read.front(), outside);
  std::vector<RangeExpr> part;
  for (std::size_t i = 0; i < block.iterators.size(); ++i) {
    const int d = product.dimensions[i];
    const std::int64_t extent = block.iterators[i].extent;
    const bool whole = d < 0 || (box[static_cast<std::size_t>(d)].extent >= extent &&
                                 !std::holds_alternative<IntImm>(box[static_cast<std::size_t>(d)].min->node));
    part.push_back(whole ? RangeExpr{int_imm(0), extent} : box[static_cast<std::size_t>(d)]);
  }
  return part;
}

// A block that shares a nest with other blocks may only read what these wrote in the same iteration.
Result<void> require_no_more(const Path& path, std::size_t top, const Path& target,
                             const std::vector<RangeExpr>& part) {
  const Block& block = *as_block(path.back());
  const Stmt nest = top_statement(path);
  const Stmt others = replace(nest, path[top], nullptr);
  if (!others ||
      std::ranges::none_of(block.reads, [&](const Region& region) { return writes(others, region.buffer.get()); }))
    return {};
  Bounds bounds = bounds_of(loops_of(path));
  for (const auto& [var, range] : bounds_of(loops_of(target))) bounds.insert_or_assign(var, range);
  VarMap first;
  for (const For* own : loops_of(Path(path.begin() + static_cast<std::ptrdiff_t>(top), path.end())))
    first[own->var.get()] = int_imm(0);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const Expr& binding = block.iterators[i].binding;
    const Expr begin = substitute(binding, first);
    const auto before = bound(simplify(binding - begin, bounds), bounds),
               now = bound(simplify(part[i].min - begin, bounds), bounds);
    if (!before || !now || now->min < before->min || now->max + part[i].extent - 1 > before->max)
      return refuse(kComputeAt, block.name,
                    fmt::format("the block would compute values of {} there that it does not compute now, from "
                                "elements that may not be written",
                                block.iterators[i].var->name),
                    "split the consumer's loops evenly");
  }
  return {};
}

}  // namespace

Result<Program> apply_compute_at(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kComputeAt));
  DOVETAIL_ASSIGN(const Path target, require_loop(program, step.arguments[1], kComputeAt));
  const Block& block = *as_block(path.back());
  DOVETAIL_TRY(require_no_inner_block(block, kComputeAt, name));
  const std::size_t top = own_nest(path);
  DOVETAIL_TRY(require_reachable(path, top, target));
  DOVETAIL_ASSIGN(const Product product, require_product(program, block));
  std::vector<Buffer> read;
  for (const Buffer& buffer : product.buffers) {
    DOVETAIL_TRY(require_readers_inside(program, path, top, target.back(), buffer));
    if (reads(as_for(target.back())->body, buffer.get())) read.push_back(buffer);
  }
  if (read.empty())
    return refuse(kComputeAt, name,
                  fmt::format("nothing inside loop {} reads {}", step.arguments[1], product.buffers.front()->name),
                  "name a loop of the block's consumer");
  DOVETAIL_TRY(require_same_operands(path, top, target, product.buffers));

  // Its own loops are removed: terms of the predicate about them must follow from the iterators. And the loops must run
  // over all values of the iterators, because the new ones may compute elements in between those that are read. (A nest
  // that was moved before already computes what readers span.)
  const Path own(path.begin() + static_cast<std::ptrdiff_t>(top), path.end());
  Block moved = block;
  DOVETAIL_ASSIGN(moved.predicate, require_free_predicate(path, top, kComputeAt));
  if (loops_of(path).size() == loops_of(own).size() && !runs_over_all(own, nullptr))
    return refuse(kComputeAt, name, "the block's loops do not provably cover all values of its iterators",
                  "move the block before splitting or fusing its loops");

  const std::vector<RangeExpr> part = needed_part(block, product, read, target);
  if (loops_of(path).size() != loops_of(own).size()) DOVETAIL_TRY(require_no_more(path, top, target, part));
  // Inserted at the start of the body: producers moved one by one, last first, keep their order, on which in-place
  // operations rely.
  For loop = *as_for(target.back());
  std::vector<Stmt> body = statements_of(loop.body);
  body.insert(body.begin(), nest_over(program, std::move(moved), path[top], part, loops_of(target)));
  loop.body = sequence(std::move(body));
  Program result = program;
  result.body = replace(program.body, target.back(), make_stmt(std::move(loop)));
  result.body = replace(result.body, path[top], nullptr);
  return result;
}

}  // namespace dovetail::schedule
