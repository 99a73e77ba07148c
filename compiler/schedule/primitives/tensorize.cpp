// tensorize LOOP INTRINSIC
//
//   for y { for o in 16 { for c in 16 { C: A[y, o] = A[y, o] + X[y, c] * W[o, c] } } }
//   ==>  for y { C: accel.gemm(A[y, 0], X[y, 0], W[0, 0]) }                                       (tensorize o
//   accel.gemm)
//
// Replaces the nest at LOOP, which must hold one block, by a call of the intrinsic whose own loop program does the
// same. Unification is modulo the order of loops, loops of extent 1 and the strides of operands: each intrinsic axis
// must correspond to one loop of equal extent that moves each operand by a constant step, and no other loop may remain
// inside. Scopes of the operands must be those that the intrinsic asks for. A refusal names what of the intrinsic found
// no counterpart: of all assignments of loops to axes, in the one that fits the most operands.
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

// "i 4, j 8": what loops or axes there are.
template <typename T>
std::string with_extents(const std::vector<T>& names, const std::vector<std::int64_t>& extents) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i], extents[i]);
  return text;
}

constexpr int kMostExchanges = 8;  // commuting nodes whose operands are tried both ways

// The bodies and inits matched with those operands exchanged; empty on success.
std::string match_all(const Intrinsic& intrinsic, const Block& pattern, const Block& block, const Bounds& bounds,
                      unsigned exchanges, Match& match) {
  if (std::string why = match_bodies(intrinsic, pattern.body, block.body, bindings_of(block), bounds, exchanges, match);
      !why.empty() || !block.init)
    return why;
  Match init;
  if (std::string why = match_bodies(intrinsic, pattern.init, block.init, bindings_of(block), bounds, 0, init);
      !why.empty())
    return why;
  // Both must be about the same elements, which derive_operand sees to.
  match.accesses.insert(match.accesses.end(), init.accesses.begin(), init.accesses.end());
  for (const auto& [immediate, value] : init.immediates)
    if (const auto [it, fresh] = match.immediates.emplace(immediate, value);
        !fresh && !structurally_equal(it->second, value))
      return fmt::format("immediate {} has one value in its init and another in its body", immediate->name);
  return "";
}

unsigned exchanges_of(const Block& pattern) { return 1U << std::min(commuting_nodes(pattern.body), kMostExchanges); }

// Empty where some exchange matches; else what does not match without any.
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

// The intrinsic's operands for the first exchange and the first assignment of loops to axes of equal extent that fit;
// `match` is theirs. None: `why` says what does not fit in those that fit the most operands.
std::vector<Operand> unify(const Intrinsic& intrinsic, const Block& pattern, const Block& block,
                           const std::vector<const VarNode*>& axes, const std::vector<std::int64_t>& extents,
                           const std::vector<const For*>& loops, const std::vector<const For*>& outside,
                           const Bounds& bounds, Match& match, std::string& why) {
  std::size_t most_operands = 0;
  for (unsigned exchanges = 0; exchanges < exchanges_of(pattern); ++exchanges) {
    if (!match_all(intrinsic, pattern, block, bounds, exchanges, match).empty()) continue;
    std::vector<std::size_t> order(loops.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      std::map<const VarNode*, int> loop_of;
      std::string assignment;
      bool fits = true;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        fits = fits && loops[order[a]]->extent == extents[a];
        loop_of[axes[a]] = static_cast<int>(order[a]);
        assignment += fmt::format("{}{} = {}", a == 0 ? " (with " : ", ", axes[a]->name, loops[order[a]]->var->name);
      }
      if (!fits) continue;
      std::vector<Operand> operands;
      std::string mismatch;
      for (const Parameter& parameter : intrinsic.semantics.parameters) {
        auto operand = derive_operand(parameter, match, loops, outside, loop_of, bounds, mismatch);
        if (!operand) break;
        operands.push_back(*std::move(operand));
      }
      if (operands.size() == intrinsic.semantics.parameters.size()) return operands;
      if (why.empty() || operands.size() > most_operands) why = mismatch + (axes.empty() ? "" : assignment + ")");
      most_operands = std::max(most_operands, operands.size());
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return {};
}

}  // namespace

Result<Program> apply_tensorize(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& loop_name = step.arguments[0];
  // The nest may have shrunk to nothing (all extents 1): then the block's own name is given.
  auto path = find_loop(program.body, loop_name);
  if (!path) path = find_block(program.body, loop_name);
  if (!path) return require_loop(program, loop_name, "tensorize").errors();
  const Intrinsic* intrinsic = find_intrinsic(intrinsics, step.arguments[1]);
  if (!intrinsic) {
    std::vector<std::string_view> names;
    for (const Intrinsic& row : intrinsics) names.push_back(row.name);
    return refuse("tensorize", loop_name, fmt::format("the target has no intrinsic {}", step.arguments[1]),
                  fmt::format("the intrinsics are {}", fmt::join(names, ", ")));
  }
  const Stmt nest = path->back();
  const Block* block = only_block(nest);
  if (!block)
    return refuse("tensorize", loop_name, "the nest holds several blocks", "name a loop directly around one block");
  DOVETAIL_TRY(require_no_inner_block(*block, "tensorize", block->name));
  const Path semantics = blocks_below(intrinsic->semantics.body).front();
  const Block& pattern = *as_block(semantics.back());

  std::vector<const For*> outside = loops_of(*path);
  std::vector<const For*> inside;
  if (as_for(nest)) outside.pop_back();
  for (Stmt at = nest; as_for(at); at = as_for(at)->body) inside.push_back(as_for(at));
  std::vector<const For*> all = outside;
  all.insert(all.end(), inside.begin(), inside.end());
  const Bounds bounds = bounds_of(all);

  if (static_cast<bool>(block->init) != static_cast<bool>(pattern.init))
    return refuse("tensorize", block->name,
                  block->init ? "the block initialises its result and the intrinsic does not"
                              : "the intrinsic initialises its result and the block does not",
                  "apply decompose_reduction first, or name another intrinsic");
  if (block->predicate) {
    bool concerned = false;
    visit_exprs(substitute(block->predicate, bindings_of(*block)), [&](const Expr& expr) {
      if (const auto* reference = std::get_if<VarRef>(&expr->node))
        for (const For* loop : inside) concerned |= loop->var == reference->var;
    });
    if (concerned)
      return refuse("tensorize", block->name,
                    fmt::format("the predicate {} masks a part of the intrinsic", loops::to_string(block->predicate)),
                    "pad the operands, or split by a factor that divides");
  }

  if (block->init)
    for (const For* loop : outside)
      for (const Iterator& iterator : block->iterators)
        if (iterator.kind == IterKind::reduce && loop->extent > 1 && mentions(iterator.binding, loop->var))
          return refuse(
              "tensorize", block->name,
              fmt::format("the intrinsic initialises its result in each call, and the reduction goes on in loop {}",
                          loop->var->name),
              "apply decompose_reduction, and name an intrinsic that accumulates");

  const std::string form = fmt::format("bring it to the form of {}, or name another intrinsic", intrinsic->name);
  if (block->init) {
    Match init;
    if (std::string why = match_bodies(*intrinsic, pattern.init, block->init, bindings_of(*block), bounds, 0, init);
        !why.empty())
      return refuse("tensorize", block->name,
                    fmt::format("its init does not unify with that of {}: {}", intrinsic->name, why), form);
  }
  Match match;
  if (std::string why = first_match(*intrinsic, pattern, *block, bounds, match); !why.empty())
    return refuse("tensorize", block->name, fmt::format("it does not unify with {}: {}", intrinsic->name, why), form);

  // Intrinsic axes: the iterators of its block, each bound to its own loop. Try all assignments of loops to axes of
  // equal extent.
  std::vector<const VarNode*> axes;
  std::vector<std::int64_t> extents;
  for (const Iterator& iterator : pattern.iterators) {
    if (iterator.extent == 1) continue;
    axes.push_back(iterator.var.get());
    extents.push_back(iterator.extent);
  }
  std::vector<const For*> loops;
  for (const For* loop : inside)
    if (loop->extent != 1) loops.push_back(loop);
  std::vector<std::string> axis_names, loop_names;
  std::vector<std::int64_t> loop_extents;
  for (const VarNode* axis : axes) axis_names.push_back(axis->name);
  for (const For* loop : loops) loop_names.push_back(loop->var->name), loop_extents.push_back(loop->extent);
  const std::string asked = axes.empty() ? "no axes" : "axes " + with_extents(axis_names, extents);
  const std::string given = loops.empty() ? "no loops" : "loops " + with_extents(loop_names, loop_extents);
  std::vector<std::int64_t> sorted_extents = extents, sorted_loops = loop_extents;
  std::sort(sorted_extents.begin(), sorted_extents.end());
  std::sort(sorted_loops.begin(), sorted_loops.end());
  if (sorted_extents != sorted_loops)
    return refuse("tensorize", block->name,
                  fmt::format("{} has {}, the nest at {} has {}", intrinsic->name, asked, loop_name, given),
                  "split and reorder so that exactly loops of those extents lie inside");
  std::string why;
  const std::vector<Operand> operands =
      unify(*intrinsic, pattern, *block, axes, extents, loops, outside, bounds, match, why);
  if (operands.empty())
    return refuse("tensorize", block->name, fmt::format("it does not unify with {}: {}", intrinsic->name, why), form);

  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!intrinsic->scopes[i].empty() && operands[i].buffer->scope != intrinsic->scopes[i])
      return refuse("tensorize", block->name,
                    fmt::format("operand {} of {} must be in scope {}, {} is in {}",
                                intrinsic->semantics.parameters[i].buffer->name, intrinsic->name, intrinsic->scopes[i],
                                operands[i].buffer->name, operands[i].buffer->scope),
                    "use cache_read, cache_write or set_scope");

  for (const Operand& operand : operands)
    for (const auto& axis : operand.steps)
      if (std::any_of(axis.begin(), axis.end(), [](std::int64_t s) { return s < 0; }))
        return refuse("tensorize", block->name, fmt::format("it runs through {} backwards", operand.buffer->name),
                      "reverse the buffer first");

  // The new block: one iterator per loop around it that moves an operand.
  Block call;
  call.name = block->name;
  call.annotations = block->annotations;
  VarMap to_iterator;
  std::vector<std::string> taken;
  for (const For* loop : outside) {
    bool used = false, spatial = true;
    for (const Iterator& iterator : block->iterators)
      visit_exprs(iterator.binding, [&](const Expr& expr) {
        const auto* reference = std::get_if<VarRef>(&expr->node);
        if (!reference || reference->var != loop->var) return;
        used = true;
        spatial = spatial && iterator.kind == IterKind::spatial;
      });
    if (!used) continue;
    const Var iterator = make_var(free_name(program, "v" + loop->var->name, taken));
    taken.push_back(iterator->name);
    to_iterator[loop->var.get()] = ref(iterator);
    call.iterators.push_back({iterator, loop->extent, spatial ? IterKind::spatial : IterKind::reduce, ref(loop->var)});
  }
  if (block->predicate)
    call.predicate = substitute(simplify(substitute(block->predicate, bindings_of(*block)), bounds), to_iterator);
  IntrinsicCall body{intrinsic->name, {}, {}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const Shape& shape = intrinsic->semantics.parameters[i].buffer->shape;
    IntrinsicOperand argument{
        operand.buffer, {}, operand.steps, std::vector<std::int64_t>(operand.buffer->shape.size(), 1)};
    Region region{operand.buffer, {}};
    for (std::size_t d = 0; d < operand.base.size(); ++d) {
      argument.indices.push_back(simplify(substitute(operand.base[d], to_iterator)));
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        argument.extents[d] += operand.steps[axis][d] * (shape[axis] - 1);
      region.ranges.push_back({argument.indices.back(), argument.extents[d]});
    }
    body.operands.push_back(std::move(argument));
    bool written = false, read = false;
    for (const Region& r : pattern.writes) written |= r.buffer == intrinsic->semantics.parameters[i].buffer;
    for (const Region& r : pattern.reads) read |= r.buffer == intrinsic->semantics.parameters[i].buffer;
    if (written) call.writes.push_back(region);
    if (read) call.reads.push_back(region);
  }
  for (const Var& immediate : intrinsic->immediates) body.immediates.push_back(match.immediates.at(immediate.get()));
  call.body = make_stmt(std::move(body));

  Program result = program;
  result.body = replace(program.body, nest, make_stmt(std::move(call)));
  return result;
}

}  // namespace dovetail::schedule
