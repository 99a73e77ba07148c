// pad BLOCK ITERATOR MULTIPLE
//
//   for c in 1000 { B: iterator v in 1000 = c }
//   ==>   for c in 1008 { B: iterator v in 1008 = c, where v < 1000 }                         (MULTIPLE 16)
//
// Rounds the extent of an iterator, and of the loop that it runs over, up to a multiple; the predicate masks the added
// values. Legal if the iterator runs over one loop that nothing else depends on, and all indices remain proven.
#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_pad(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  constexpr std::int64_t kLargestMultiple = std::int64_t{1} << 20;
  DOVETAIL_ASSIGN(const Path path, require_block(program, step.arguments[0], "pad"));
  DOVETAIL_ASSIGN(const std::int64_t multiple, require_integer(step.arguments[2], 1, "the multiple", "pad"));
  const Block& block = *as_block(path.back());
  if (multiple > kLargestMultiple)
    return refuse("pad", block.name, fmt::format("the multiple {} is above {}", multiple, kLargestMultiple),
                  "give a smaller multiple");
  const auto own = std::find_if(block.iterators.begin(), block.iterators.end(),
                                [&](const Iterator& i) { return i.var->name == step.arguments[1]; });
  if (own == block.iterators.end()) {
    std::string names;
    for (const Iterator& iterator : block.iterators) names += (names.empty() ? "" : ", ") + iterator.var->name;
    return refuse("pad", block.name, fmt::format("the block has no iterator {}", step.arguments[1]),
                  "its iterators are " + names);
  }
  const auto* reference = std::get_if<VarRef>(&own->binding->node);
  const auto at = std::find_if(path.begin(), path.end(), [&](const Stmt& stmt) {
    return reference && as_for(stmt) && as_for(stmt)->var == reference->var;
  });
  if (at == path.end() || as_for(*at)->extent != own->extent)
    return refuse("pad", block.name, fmt::format("iterator {} is not bound to one loop of its extent", own->var->name),
                  "pad before split and fuse");
  const For& loop = *as_for(*at);
  if (only_block(*at) != &block)
    return refuse("pad", block.name, fmt::format("loop {} contains more than the block", loop.var->name),
                  "pad before compute_at moves blocks in");
  if (loop.kind == ForKind::thread)
    return refuse("pad", block.name, fmt::format("loop {} is bound to {}", loop.var->name, loop.thread_axis),
                  "pad before bind");
  for (const Iterator& iterator : block.iterators)
    if (&iterator != &*own && mentions(iterator.binding, loop.var))
      return refuse("pad", block.name,
                    fmt::format("the iterator's loop {} also drives iterator {}", loop.var->name, iterator.var->name),
                    "pad an iterator whose loop drives no other iterator");

  const std::int64_t extent = (own->extent + multiple - 1) / multiple * multiple;
  Block padded = block;
  Iterator& iterator = padded.iterators[static_cast<std::size_t>(own - block.iterators.begin())];
  iterator.extent = extent;
  // The new term comes first: later terms may load, and are not evaluated beyond the edge.
  if (extent != own->extent)
    padded.predicate =
        conjunction(binary(BinaryOp::lt, ref(own->var), int_imm(own->extent, own->var->dtype)), block.predicate);
  For longer = loop;
  longer.extent = extent;
  longer.body = replace(loop.body, path.back(), make_stmt(std::move(padded)));
  Program result = program;
  result.body = replace(program.body, *at, make_stmt(std::move(longer)));
  return if_proven(std::move(result), {block.name}, intrinsics, "pad", block.name,
                   "pad what stores and loads at that iterator alone");
}

}  // namespace dovetail::schedule
