#include "compiler/schedule/loop_kinds.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/thread_axes.h"
#include "loops/print.h"
#include "loops/run_time_checks.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

// A loop of the kind around or below the loop at `path`; null if there is none.
const For* other_of_kind(const Path& path, ForKind kind) {
  const For* found = nullptr;
  for (const For* around : loops_of(path))
    if (around->kind == kind && around != as_for(path.back())) found = around;
  visit_stmts(as_for(path.back())->body, [&](const Stmt& stmt) {
    if (const For* below = as_for(stmt); below && below->kind == kind) found = below;
  });
  return found;
}

std::optional<Conflict> broken_parallel(const Program& program, const Path& path, const IntrinsicTable& intrinsics) {
  if (const For* other = other_of_kind(path, ForKind::parallel))
    return Conflict{fmt::format("loop {} is already parallel, and parallel loops cannot be nested", other->var->name),
                    "fuse the loops, and make the fused one parallel"};
  return carried_dependence(program, path, intrinsics);
}

// True if the step of `index` from one iteration to the next is not a constant.
bool moves_unevenly(const Expr& index, const Var& var, const Bounds& bounds) {
  for (const LinearTerm& term : linear_form(simplify(index, bounds)).terms) {
    const auto* reference = std::get_if<VarRef>(&term.atom->node);
    if (!(reference && reference->var == var) && mentions(term.atom, var)) return true;
  }
  return false;
}

// What prevents vector code for an iteration; empty: nothing.
std::optional<Conflict> not_lanes(const Stmt& stmt, const For& loop) {
  if (const For* inner = as_for(stmt)) {
    if (inner->kind != ForKind::unrolled)
      return Conflict{fmt::format("loop {} below it is {}, but only unrolled loops may be below a vectorized one",
                                  inner->var->name, name(inner->kind)),
                      "reorder it outwards or unroll it"};
    return not_lanes(inner->body, loop);
  }
  if (const auto* siblings = std::get_if<Sequence>(&stmt->node)) {
    for (const Stmt& sibling : siblings->body)
      if (auto conflict = not_lanes(sibling, loop)) return conflict;
    return std::nullopt;
  }
  const Block* block = as_block(stmt);
  if (!block) return Conflict{"a condition is below it", "vectorize loops around blocks alone"};
  for (const Stmt& part : {block->init, block->body}) {
    if (!part) continue;
    const auto* siblings = std::get_if<Sequence>(&part->node);
    for (const Stmt& statement : siblings ? siblings->body : std::vector<Stmt>{part})
      if (!std::holds_alternative<Store>(statement->node))
        return Conflict{fmt::format("block {} holds more than stores", block->name),
                        "vectorize loops around blocks of plain stores"};
  }
  return std::nullopt;
}

std::optional<Conflict> uneven_access(const Path& path) {
  const For& loop = *as_for(path.back());
  for (const Path& below : blocks_below(path.back())) {
    const Block& block = *as_block(below.back());
    std::vector<const For*> around = loops_of(path);
    for (const For* inner : loops_of(below)) around.push_back(inner);
    const Bounds bounds = bounds_of(around);
    const VarMap bindings = bindings_of(block);
    std::optional<Conflict> conflict;
    const auto check = [&](const Buffer& buffer, const std::vector<Expr>& indices) {
      for (const Expr& index : indices)
        if (!conflict && moves_unevenly(substitute(index, bindings), loop.var, bounds))
          conflict = Conflict{fmt::format("index {} of {} in block {} does not move with it by a constant step",
                                          loops::to_string(index), buffer->name, block.name),
                              "split so that each vector stays within one row, or vectorize another loop"};
    };
    visit_exprs(below.back(), [&](const Expr& expr) {
      const auto* access = std::get_if<LoadExpr>(&expr->node);
      if (access == nullptr) return;
      // An index that is loaded data makes the load a gather: each lane has its own.
      std::vector<Expr> affine;
      for (const Expr& index : access->indices)
        if (!holds_load(index)) affine.push_back(index);
      check(access->buffer, affine);
    });
    visit_stmts(below.back(), [&](const Stmt& stmt) {
      if (const auto* assignment = std::get_if<Store>(&stmt->node))
        for (const StoreTarget& target : assignment->targets) check(target.buffer, target.indices);
    });
    if (conflict) return conflict;
  }
  return std::nullopt;
}

std::optional<Conflict> broken_vectorized(const Program& program, const Path& path, const IntrinsicTable& intrinsics) {
  const For& loop = *as_for(path.back());
  if (loop.extent > kMostLanes)
    return Conflict{fmt::format("it has {} iterations, but a vector has at most {} lanes", loop.extent, kMostLanes),
                    "split it and vectorize the inner loop"};
  if (const For* other = other_of_kind(path, ForKind::vectorized))
    return Conflict{fmt::format("loop {} is vectorized already, and vectorized loops do not nest", other->var->name),
                    "vectorize one loop of a nest"};
  if (auto conflict = not_lanes(loop.body, loop)) return conflict;
  if (auto conflict = uneven_access(path)) return conflict;
  return carried_dependence(program, path, intrinsics);
}

std::optional<Conflict> broken_unrolled(const Path& path) {
  std::int64_t copies = 1;
  for (const For* loop : loops_of(path))
    if (loop->kind == ForKind::unrolled || loop == as_for(path.back()))
      copies *= std::clamp<std::int64_t>(loop->extent, 1, 1 << 20);
  if (copies <= kMostCopies) return std::nullopt;
  return Conflict{fmt::format("the unrolled loops there would make {} copies, more than {}", copies, kMostCopies),
                  "split it and unroll the inner loop"};
}

std::optional<Conflict> broken_pipelined(const Program& program, const Path& path, const IntrinsicTable& intrinsics) {
  const For& loop = *as_for(path.back());
  const auto stages = loop.annotations.find(kStages);
  const auto count =
      require_integer(stages == loop.annotations.end() ? "" : stages->second, 2, "the number of stages", "pipeline");
  if (!count.ok()) return Conflict{count.errors()[0].why, fmt::format("annotate {} {} 2", loop.var->name, kStages)};
  if (loop.extent < *count)
    return Conflict{fmt::format("it has {} iterations, fewer than {} stages", loop.extent, *count),
                    "give fewer stages"};
  const auto* body = std::get_if<Sequence>(&loop.body->node);
  if (!body)
    return Conflict{"it holds only one statement, so nothing could overlap",
                    "cache_read and compute_at its operands into it first"};
  const Stmt& last = body->body.back();
  for (std::size_t i = 0; i + 1 < body->body.size(); ++i) {
    for (const Buffer& buffer : written_below(body->body[i]))
      if (const std::string why = not_private(program, path, buffer, intrinsics); !why.empty())
        return Conflict{
            fmt::format("its statements before the last one write {}, of which iterations cannot have copies: {}",
                        buffer->name, why),
            "compute_at all uses into one iteration"};
    for (const Buffer& buffer : written_below(last))
      if (reads(body->body[i], buffer.get()))
        return Conflict{fmt::format("its last statement writes {}, which an earlier one reads and could not read ahead",
                                    buffer->name),
                        "reverse_compute_at later statements to another loop"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Conflict> broken_kind(const Program& program, const Path& path, const IntrinsicTable& intrinsics) {
  switch (as_for(path.back())->kind) {
    case ForKind::parallel: return broken_parallel(program, path, intrinsics);
    case ForKind::vectorized: return broken_vectorized(program, path, intrinsics);
    case ForKind::unrolled: return broken_unrolled(path);
    case ForKind::vthread: return carried_dependence(program, path, intrinsics);
    case ForKind::pipelined: return broken_pipelined(program, path, intrinsics);
    case ForKind::thread: return broken_axis(program, path, intrinsics);
    case ForKind::serial: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Conflict> broken_slots(const Program& program, const Buffer& buffer, const IntrinsicTable& intrinsics) {
  const Path home = home_of(program.body, buffer.get());
  if (home.empty())
    return Conflict{"no loop contains all its uses", "compute_at what writes it into a loop of what reads it"};
  if (const std::string why = not_private(program, home, buffer, intrinsics); !why.empty())
    return Conflict{fmt::format("iterations of {} cannot have copies of it: {}", as_for(home.back())->var->name, why),
                    "compute_at all uses into one iteration"};
  return std::nullopt;
}

std::optional<BrokenKind> first_broken_kind(const Program& program, const IntrinsicTable& intrinsics) {
  bool promises = false;
  std::vector<const Block*> with_slots;
  visit_stmts(program.body, [&](const Stmt& stmt) {
    if (const For* loop = as_for(stmt)) promises |= loop->kind != ForKind::serial;
    if (const Block* block = as_block(stmt); block && block->annotations.contains(kSlots)) with_slots.push_back(block);
  });
  for (const Block* block : with_slots) {
    if (block->writes.empty())
      return BrokenKind{fmt::format("the slots of block {}", block->name),
                        {"it writes no buffer", "leave the annotation out"}};
    const Buffer& buffer = block->writes.front().buffer;
    if (!loops::count_of(block->annotations, kSlots, 1))
      return BrokenKind{fmt::format("the slots of {}", buffer->name),
                        {fmt::format("\"{}\" is not an integer of at least 1", block->annotations.at(kSlots)),
                         fmt::format("write slots {} 2", buffer->name)}};
    if (auto conflict = broken_slots(program, buffer, intrinsics))
      return BrokenKind{fmt::format("the slots of {}", buffer->name), *std::move(conflict)};
  }
  if (!promises) return std::nullopt;
  std::set<const For*> seen;
  for (const Path& path : blocks_below(program.body))
    for (std::size_t i = 0; i < path.size(); ++i)
      if (const For* loop = as_for(path[i]); loop && loop->kind != ForKind::serial && seen.insert(loop).second)
        if (auto conflict =
                broken_kind(program, Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i) + 1), intrinsics))
          return BrokenKind{fmt::format("{} loop {}", name(loop->kind), loop->var->name), *std::move(conflict)};
  return std::nullopt;
}

Result<Program> with_kind(const Program& program, std::string_view loop, std::string_view primitive,
                          const IntrinsicTable& intrinsics, const std::function<void(For&)>& change) {
  DOVETAIL_ASSIGN(const Path path, require_loop(program, loop, primitive));
  For changed = *as_for(path.back());
  if (changed.kind != ForKind::serial)
    return refuse(primitive, loop, fmt::format("the loop is already {}", name(changed.kind)), "name a serial loop");
  change(changed);
  Program result = program;
  result.body = replace(program.body, path.back(), make_stmt(std::move(changed)));
  if (auto conflict = broken_kind(result, *find_loop(result.body, loop), intrinsics))
    return refuse(primitive, loop, std::move(conflict->why), std::move(conflict->hint));
  return result;
}

}  // namespace dovetail::schedule
