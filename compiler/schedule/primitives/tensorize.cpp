// tensorize LOOP INTRINSIC
//
//   for y { for o in 16 { for c in 16 { C: A[y, o] = A[y, o] + X[y, c] * W[o, c] } } }
//   ==>  for y { C: accel.gemm(A[y, 0], X[y, 0], W[0, 0]) }                           (tensorize o accel.gemm)
//
// Replaces the nest at LOOP, which must contain one block, by a call of the intrinsic whose loop program is equivalent.
// Unification is modulo the order of loops, loops of extent 1 and the strides of operands: each intrinsic axis must
// correspond to one loop of equal extent that moves each operand by a constant step, and no other loop may remain
// inside. The operands must have the scopes that the intrinsic requires. A refusal names the part of the intrinsic
// without counterpart, in the assignment of loops to axes that fits the most operands.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/unify.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kTensorize = "tensorize";

// The replaced statement: the nest at LOOP.
struct Nest {
  Stmt stmt;
  const Block* block;
  std::vector<const For*> outside, inside;  // the loops around the nest, and its own
  Bounds bounds;                            // bounds of all of them
};

Nest nest_at(const Path& path) {
  Nest nest{path.back(), only_block(path.back()), loops_of(path), {}, {}};
  if (as_for(nest.stmt)) nest.outside.pop_back();
  for (Stmt at = nest.stmt; as_for(at); at = as_for(at)->body) nest.inside.push_back(as_for(at));
  std::vector<const For*> all = nest.outside;
  all.insert(all.end(), nest.inside.begin(), nest.inside.end());
  nest.bounds = bounds_of(all);
  return nest;
}

Result<const Intrinsic*> require_intrinsic(const IntrinsicTable& intrinsics, std::string_view name,
                                           std::string_view loop) {
  if (const Intrinsic* intrinsic = find_intrinsic(intrinsics, name)) return intrinsic;
  std::vector<std::string_view> names;
  for (const Intrinsic& row : intrinsics) names.push_back(row.name);
  return refuse(kTensorize, loop, fmt::format("the target has no intrinsic {}", name),
                fmt::format("the intrinsics are {}", fmt::join(names, ", ")));
}

// A call has no mask, and an intrinsic that initializes its result does so in each call: the block's predicate, init
// and enclosing loops must not require anything else.
Result<void> require_whole_calls(const Nest& nest, const Block& pattern) {
  const Block& block = *nest.block;
  if (static_cast<bool>(block.init) != static_cast<bool>(pattern.init))
    return refuse(kTensorize, block.name,
                  block.init ? "the block initializes its result and the intrinsic does not"
                             : "the intrinsic initializes its result and the block does not",
                  "apply decompose_reduction first, or name another intrinsic");
  if (block.predicate) {
    bool concerned = false;
    visit_exprs(substitute(block.predicate, bindings_of(block)), [&](const Expr& expr) {
      if (const auto* reference = std::get_if<VarRef>(&expr->node))
        for (const For* loop : nest.inside) concerned |= loop->var == reference->var;
    });
    if (concerned)
      return refuse(kTensorize, block.name,
                    fmt::format("the predicate {} masks a part of the intrinsic", loops::to_string(block.predicate)),
                    "pad the operands, or split by a factor that divides the extent");
  }
  if (!block.init) return {};
  for (const For* loop : nest.outside)
    for (const Iterator& iterator : block.iterators)
      if (iterator.kind == IterKind::reduce && loop->extent > 1 && mentions(iterator.binding, loop->var))
        return refuse(
            kTensorize, block.name,
            fmt::format("the intrinsic initializes its result in each call, but the reduction continues in loop {}",
                        loop->var->name),
            "apply decompose_reduction, and name an intrinsic that accumulates");
  return {};
}

constexpr int kMostExchanges = 8;  // commuting nodes whose operands are tried in both orders

// Matches bodies and inits with those operands exchanged; empty on success.
std::string match_all(const Intrinsic& intrinsic, const Block& pattern, const Block& block, const Bounds& bounds,
                      unsigned exchanges, Match& match) {
  if (std::string why = match_bodies(intrinsic, pattern.body, block.body, bindings_of(block), bounds, exchanges, match);
      !why.empty() || !block.init)
    return why;
  Match init;
  if (std::string why = match_bodies(intrinsic, pattern.init, block.init, bindings_of(block), bounds, 0, init);
      !why.empty())
    return why;
  // Both must access the same elements, which derive_operand checks.
  match.accesses.insert(match.accesses.end(), init.accesses.begin(), init.accesses.end());
  for (const auto& [immediate, value] : init.immediates)
    if (const auto [it, fresh] = match.immediates.emplace(immediate, value);
        !fresh && !structurally_equal(it->second, value))
      return fmt::format("immediate {} has one value in its init and another in its body", immediate->name);
  return "";
}

unsigned exchanges_of(const Block& pattern) { return 1U << std::min(commuting_nodes(pattern.body), kMostExchanges); }

// Empty if some exchange matches; else the mismatch without any exchange.
std::string first_match(const Intrinsic& intrinsic, const Block& pattern, const Block& block, const Bounds& bounds,
                        Match& match) {
  std::string plain;
  for (unsigned exchanges = 0; exchanges < exchanges_of(pattern); ++exchanges) {
    const std::string why = match_all(intrinsic, pattern, block, bounds, exchanges, match);
    if (why.empty()) return why;
    if (exchanges == 0) plain = why;
  }
  return plain;
}

// Empty if init and body of the nest's block each match the intrinsic's; else the mismatch.
std::string why_no_match(const Intrinsic& intrinsic, const Block& pattern, const Nest& nest) {
  const Block& block = *nest.block;
  Match match;
  if (block.init)
    if (const std::string why =
            match_bodies(intrinsic, pattern.init, block.init, bindings_of(block), nest.bounds, 0, match);
        !why.empty())
      return fmt::format("the block's init does not match that of {}: {}", intrinsic.name, why);
  if (const std::string why = first_match(intrinsic, pattern, block, nest.bounds, match); !why.empty())
    return fmt::format("the block does not match {}: {}", intrinsic.name, why);
  return "";
}

// `Range`: a loop, or an iterator of the intrinsic's block, which is an axis of the intrinsic.
template <typename Range>
std::string with_extents(std::string_view what, const std::vector<const Range*>& ranges) {  // "axes i 4, j 8"
  if (ranges.empty()) return fmt::format("no {}", what);
  std::string text(what);
  for (const Range* range : ranges)
    text += fmt::format("{}{} {}", range == ranges.front() ? " " : ", ", range->var->name, range->extent);
  return text;
}
template <typename Range>
std::vector<std::int64_t> sorted_extents(const std::vector<const Range*>& ranges) {
  std::vector<std::int64_t> extents;
  for (const Range* range : ranges) extents.push_back(range->extent);
  std::sort(extents.begin(), extents.end());
  return extents;
}

struct Unified {
  std::vector<Operand> operands;
  Match match;
};

// The intrinsic's operands for the first exchange and the first assignment of loops to axes of equal extent that fit.
// nullopt: `why` describes the mismatch in the assignment that fits the most operands.
std::optional<Unified> unify(const Intrinsic& intrinsic, const Block& pattern, const Nest& nest,
                             const std::vector<const Iterator*>& axes, const std::vector<const For*>& loops,
                             std::string& why) {
  std::size_t most_operands = 0;
  for (unsigned exchanges = 0; exchanges < exchanges_of(pattern); ++exchanges) {
    Unified found;
    if (!match_all(intrinsic, pattern, *nest.block, nest.bounds, exchanges, found.match).empty()) continue;
    std::vector<std::size_t> order(loops.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      std::map<const VarNode*, int> loop_of;
      std::string assignment;
      bool fits = true;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        fits = fits && loops[order[a]]->extent == axes[a]->extent;
        loop_of[axes[a]->var.get()] = static_cast<int>(order[a]);
        assignment +=
            fmt::format("{}{} = {}", a == 0 ? " (with " : ", ", axes[a]->var->name, loops[order[a]]->var->name);
      }
      if (!fits) continue;
      found.operands.clear();
      std::string mismatch;
      for (const Parameter& parameter : intrinsic.semantics.parameters) {
        auto operand = derive_operand(parameter, found.match, loops, nest.outside, loop_of, nest.bounds, mismatch);
        if (!operand) break;
        found.operands.push_back(*std::move(operand));
      }
      const std::size_t operands = found.operands.size();
      if (operands == intrinsic.semantics.parameters.size()) return found;
      if (why.empty() || operands > most_operands) why = mismatch + (axes.empty() ? "" : assignment + ")");
      most_operands = std::max(most_operands, operands);
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return std::nullopt;
}

// Checks that the operands are in the scopes that the intrinsic requires, and that no axis runs through one backwards.
Result<void> require_operands(const Intrinsic& intrinsic, const std::vector<Operand>& operands,
                              const std::string& block) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!intrinsic.scopes[i].empty() && operands[i].buffer->scope != intrinsic.scopes[i])
      return refuse(kTensorize, block,
                    fmt::format("operand {} of {} must be in scope {}, but {} is in {}",
                                intrinsic.semantics.parameters[i].buffer->name, intrinsic.name, intrinsic.scopes[i],
                                operands[i].buffer->name, operands[i].buffer->scope),
                    "use cache_read, cache_write or set_scope");
  for (const Operand& operand : operands)
    for (const auto& axis : operand.steps)
      if (std::any_of(axis.begin(), axis.end(), [](std::int64_t s) { return s < 0; }))
        return refuse(kTensorize, block, fmt::format("the call traverses {} backwards", operand.buffer->name),
                      "reverse the buffer first");
  return {};
}

// Iterators for the call's block, one for each enclosing loop that moves an operand.
struct CallIterators {
  std::vector<Iterator> iterators;
  VarMap of_loops;
};

CallIterators call_iterators(const Program& program, const Nest& nest) {
  CallIterators made;
  std::vector<std::string> taken;
  for (const For* loop : nest.outside) {
    bool used = false, spatial = true;
    for (const Iterator& iterator : nest.block->iterators)
      visit_exprs(iterator.binding, [&](const Expr& expr) {
        const auto* reference = std::get_if<VarRef>(&expr->node);
        if (!reference || reference->var != loop->var) return;
        used = true;
        spatial = spatial && iterator.kind == IterKind::spatial;
      });
    if (!used) continue;
    const Var iterator = make_var(free_name(program, "v" + loop->var->name, taken));
    taken.push_back(iterator->name);
    made.of_loops[loop->var.get()] = ref(iterator);
    made.iterators.push_back({iterator, loop->extent, spatial ? IterKind::spatial : IterKind::reduce, ref(loop->var)});
  }
  return made;
}

// An operand in the form of the call, `base` in the call's iterators; it spans `extents` from there.
IntrinsicOperand call_operand(const Operand& operand, const Shape& shape, const VarMap& of_loops) {
  IntrinsicOperand argument{
      operand.buffer, {}, operand.steps, std::vector<std::int64_t>(operand.buffer->shape.size(), 1)};
  for (std::size_t d = 0; d < operand.base.size(); ++d) {
    argument.indices.push_back(simplify(substitute(operand.base[d], of_loops)));
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      argument.extents[d] += operand.steps[axis][d] * (shape[axis] - 1);
  }
  return argument;
}

Block call_block(const Program& program, const Intrinsic& intrinsic, const Block& pattern, const Nest& nest,
                 const Unified& unified) {
  const Block& block = *nest.block;
  CallIterators made = call_iterators(program, nest);
  Block call;
  call.name = block.name;
  call.annotations = block.annotations;
  call.iterators = std::move(made.iterators);
  if (block.predicate)
    call.predicate = substitute(simplify(substitute(block.predicate, bindings_of(block)), nest.bounds), made.of_loops);
  const auto concerns = [](const std::vector<Region>& regions, const Buffer& buffer) {
    return std::any_of(regions.begin(), regions.end(), [&](const Region& region) { return region.buffer == buffer; });
  };
  IntrinsicCall body{intrinsic.name, {}, {}};
  for (std::size_t i = 0; i < unified.operands.size(); ++i) {
    const Buffer& parameter = intrinsic.semantics.parameters[i].buffer;
    IntrinsicOperand argument = call_operand(unified.operands[i], parameter->shape, made.of_loops);
    Region region{argument.buffer, {}};
    for (std::size_t d = 0; d < argument.indices.size(); ++d)
      region.ranges.push_back({argument.indices[d], argument.extents[d]});
    if (concerns(pattern.writes, parameter)) call.writes.push_back(region);
    if (concerns(pattern.reads, parameter)) call.reads.push_back(region);
    body.operands.push_back(std::move(argument));
  }
  if (call.predicate) {  // what it loads
    Block condition;
    condition.iterators = call.iterators;
    condition.predicate = call.predicate;
    for (Region& region : with_inferred_regions(std::move(condition)).reads) call.reads.push_back(std::move(region));
  }
  for (const Var& immediate : intrinsic.immediates)
    body.immediates.push_back(unified.match.immediates.at(immediate.get()));
  call.body = make_stmt(std::move(body));
  return call;
}

}  // namespace

Result<Program> apply_tensorize(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& loop_name = step.arguments[0];
  // The nest may have no loops (all extents 1): then the block's own name is given.
  auto path = find_loop(program.body, loop_name);
  if (!path) path = find_block(program.body, loop_name);
  if (!path) return require_loop(program, loop_name, kTensorize).errors();
  DOVETAIL_ASSIGN(const Intrinsic* const found, require_intrinsic(intrinsics, step.arguments[1], loop_name));
  const Intrinsic& intrinsic = *found;
  const Nest nest = nest_at(*path);
  if (!nest.block)
    return refuse(kTensorize, loop_name, "the nest contains several blocks",
                  "name a loop that encloses only one block");
  const Block& block = *nest.block;
  DOVETAIL_TRY(require_no_inner_block(block, kTensorize, block.name));
  const Path semantics = blocks_below(intrinsic.semantics.body).front();
  const Block& pattern = *as_block(semantics.back());
  DOVETAIL_TRY(require_whole_calls(nest, pattern));
  const std::string form = fmt::format("bring it to the form of {}, or name another intrinsic", intrinsic.name);
  if (const std::string why = why_no_match(intrinsic, pattern, nest); !why.empty())
    return refuse(kTensorize, block.name, why, form);

  // Each axis corresponds to one loop of its extent; extents of 1 need no counterpart.
  std::vector<const Iterator*> axes;
  for (const Iterator& iterator : pattern.iterators)
    if (iterator.extent != 1) axes.push_back(&iterator);
  std::vector<const For*> loops;
  for (const For* loop : nest.inside)
    if (loop->extent != 1) loops.push_back(loop);
  if (sorted_extents(axes) != sorted_extents(loops))
    return refuse(kTensorize, block.name,
                  fmt::format("{} has {}, but the nest at {} has {}", intrinsic.name, with_extents("axes", axes),
                              loop_name, with_extents("loops", loops)),
                  "split and reorder so that the loops inside have exactly these extents");
  std::string why;
  const auto unified = unify(intrinsic, pattern, nest, axes, loops, why);
  if (!unified)
    return refuse(kTensorize, block.name, fmt::format("the block does not match {}: {}", intrinsic.name, why), form);
  DOVETAIL_TRY(require_operands(intrinsic, unified->operands, block.name));

  Program result = program;
  result.body = replace(program.body, nest.stmt, make_stmt(call_block(program, intrinsic, pattern, nest, *unified)));
  return result;
}

}  // namespace dovetail::schedule
