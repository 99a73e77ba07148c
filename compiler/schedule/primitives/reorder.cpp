// reorder LOOP LOOP ...
//
//   for y { for x { for c { B } } }   ==>   for c { for y { for x { B } } }        (reorder c y)
//
// The named loops exchange their places in the given order; loops between them stay where they are. Legal if all are in
// one perfect nest over a single block, loops that feed an ordered iterator keep their relative order, and, if the
// block has an init, each sum still starts at its first point. Iterations of spatial iterators are independent;
// reduction iterators commute (float sums may be reassociated).
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "compiler/schedule/iteration.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

Result<Program> apply_reorder(const Program& program, Step& step, const IntrinsicTable&) {
  std::set<std::string> named;
  for (const std::string& name : step.arguments) {
    DOVETAIL_TRY(require_loop(program, name, "reorder"));
    if (!named.insert(name).second) return refuse("reorder", name, "the loop is named twice", "name each loop once");
  }
  // The outermost named loop, and the nest below it.
  std::optional<Path> top;
  for (const std::string& name : step.arguments) {
    auto path = find_loop(program.body, name);
    if (!top || path->size() < top->size()) top = std::move(path);
  }
  std::vector<const For*> nest;
  Stmt at = top->back();
  std::size_t found = 0;
  while (const For* loop = as_for(at)) {
    nest.push_back(loop);
    found += named.count(loop->var->name);
    at = loop->body;
    if (found == named.size()) break;
  }
  if (found != named.size())
    return refuse("reorder", nest.front()->var->name, "the loops are not in one perfect nest",
                  "reorder before other blocks are computed inside, or name only loops of one nest");
  const Block* block = only_block(nest.back()->body);
  if (!block)
    return refuse("reorder", nest.front()->var->name, "there are several blocks inside the loops",
                  "reorder before compute_at moves blocks in");

  std::vector<const For*> order = nest;
  std::size_t next = 0;
  for (const For*& loop : order) {
    if (!named.count(loop->var->name)) continue;
    const std::string& name = step.arguments[next++];
    loop = *std::find_if(nest.begin(), nest.end(), [&](const For* l) { return l->var->name == name; });
  }
  std::vector<const For*> ordered_before, ordered_after;
  const auto feeds_ordered = [&](const For* loop) {
    return std::any_of(block->iterators.begin(), block->iterators.end(), [&](const Iterator& iterator) {
      return iterator.kind == IterKind::ordered && mentions(iterator.binding, loop->var);
    });
  };
  std::copy_if(nest.begin(), nest.end(), std::back_inserter(ordered_before), feeds_ordered);
  std::copy_if(order.begin(), order.end(), std::back_inserter(ordered_after), feeds_ordered);
  if (ordered_before != ordered_after)
    return refuse("reorder", block->name,
                  fmt::format("block {} has ordered iterators whose loops would change places", block->name),
                  "keep the order of those loops");

  std::vector<const For*> outside = loops_of(*top);
  outside.pop_back();
  const auto feeds_reduction = [&](const For* loop) {
    bool spatial = false, reduce = false;
    for (const Iterator& iterator : block->iterators)
      if (mentions(iterator.binding, loop->var)) (iterator.kind == IterKind::reduce ? reduce : spatial) = true;
    return reduce || !spatial;
  };
  // With an init, moving a loop across a loop of the reduction changes the points at which sums start.
  const auto crosses = [&] {
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = i + 1; j < order.size(); ++j) {
        if (order[i]->extent == 1 || order[j]->extent == 1 || !(feeds_reduction(order[i]) || feeds_reduction(order[j])))
          continue;
        if (std::find(nest.begin(), nest.end(), order[i]) > std::find(nest.begin(), nest.end(), order[j])) return true;
      }
    return false;
  };
  if (block->init && crosses() && !starts_once(*block, outside, nest))
    return refuse("reorder", block->name,
                  fmt::format("block {} would initialize some of its sums after adding parts of them", block->name),
                  "apply decompose_reduction first");

  Stmt body = nest.back()->body;
  for (auto loop = order.rbegin(); loop != order.rend(); ++loop) {
    For copy = **loop;
    copy.body = std::move(body);
    body = make_stmt(std::move(copy));
  }
  Program result = program;
  result.body = replace(program.body, top->back(), body);
  return result;
}

}  // namespace dovetail::schedule
