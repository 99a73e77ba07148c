// blockize LOOP -> BLOCK
//
//   for o in 4 { for i in 8 { B: iterator v in 32 = o * 8 + i } }
//   ==>   for o in 4 { BLOCK: iterator t in 4 = o { for i in 8 { B: iterator v in 32 = t * 8 + i } } } (LOOP i)
//
// The nest at LOOP becomes the body of one block, which later steps move as a whole. For an iterator over loops outside
// and inside LOOP, BLOCK gets the outer part; iterators over outer loops only become BLOCK's, those over inner loops
// only stay inside. Legal if
//  - the nest consists of serial loops over one block, a plain store or a call, without init and predicate,
//  - the part of an iterator that runs over the loops inside takes all values 0 to f - 1, and the rest, and the
//    iterator's extent, are multiples of f.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/schedule/iteration.h"
#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/linear.h"
#include "loops/print.h"
#include "loops/verify.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

bool moves_with(const Expr& expr, const std::vector<const For*>& loops) {
  return std::any_of(loops.begin(), loops.end(), [&](const For* loop) { return mentions(expr, loop->var); });
}

// outer * factor + inner.
struct Parts {
  Expr outer, inner;
  std::int64_t factor;
};
// nullopt if the iterator, which runs over loops `outside` and `inside`, is not of that form.
std::optional<Parts> parts_of(const Iterator& iterator, const std::vector<const For*>& outside,
                              const std::vector<const For*>& inside, const Bounds& bounds) {
  if (iterator.binding->dtype != DType::int64) return std::nullopt;
  const Linear form = linear_form(simplify(iterator.binding, bounds));
  Linear outer, inner;
  outer.constant = form.constant;
  for (const LinearTerm& term : form.terms) {
    const bool moves_inside = moves_with(term.atom, inside);
    if (moves_inside && moves_with(term.atom, outside)) return std::nullopt;
    (moves_inside ? inner : outer).add(term.atom, term.coefficient);
  }
  const auto range = bound(to_expr(inner), bounds);
  if (!range || range->min != 0 || !covers({to_expr(inner)}, {range->max + 1}, inside)) return std::nullopt;
  const std::int64_t factor = range->max + 1;
  Linear quotient;
  quotient.constant = outer.constant / factor;
  bool divides = outer.constant % factor == 0 && iterator.extent % factor == 0;
  for (const LinearTerm& term : outer.terms) {
    divides &= term.coefficient % factor == 0;
    if (divides) quotient.add(term.atom, term.coefficient / factor);
  }
  if (!divides) return std::nullopt;
  return Parts{to_expr(quotient), to_expr(inner), factor};
}

}  // namespace

Result<Program> apply_blockize(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  constexpr std::string_view kName = "blockize";
  const std::string& loop_name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_loop(program, loop_name, kName));
  const Stmt nest = path.back();
  const Block* found = only_block(nest);
  if (!found)
    return refuse(kName, loop_name, "the nest contains more than one block",
                  "apply this step before compute_at moves blocks in, or name an inner loop");
  const Block& block = *found;
  DOVETAIL_TRY(require_no_inner_block(block, kName, loop_name));
  if (block.init)
    return refuse(kName, loop_name, fmt::format("block {} initializes its result", block.name),
                  "apply decompose_reduction first");
  if (block.predicate)
    return refuse(kName, loop_name,
                  fmt::format("the predicate {} masks block {}", loops::to_string(block.predicate), block.name),
                  "split by a factor that divides the extent, or peel the remainder first");
  if (!std::holds_alternative<Store>(block.body->node) && !std::holds_alternative<IntrinsicCall>(block.body->node))
    return refuse(kName, loop_name, fmt::format("block {} contains more than one store or call", block.name),
                  "name the nest of a plain block");

  std::vector<const For*> outside = loops_of(path), inside;
  outside.pop_back();
  for (Stmt at = nest; as_for(at); at = as_for(at)->body) inside.push_back(as_for(at));
  for (const For* loop : inside)
    if (loop->kind != ForKind::serial)
      return refuse(kName, loop_name,
                    fmt::format("loop {} is {}, but the guarantee of its kind is not visible inside a block",
                                loop->var->name, name(loop->kind)),
                    "blockize serial loops");
  std::vector<const For*> all = outside;
  all.insert(all.end(), inside.begin(), inside.end());
  const Bounds bounds = bounds_of(all);

  if (step.results.empty()) step.results = {block.name + ".tile"};
  Block outer;
  outer.name = step.results[0];
  DOVETAIL_TRY(require_new_name(program, outer.name, kName, loop_name));
  std::vector<std::string> taken{outer.name};
  Block inner = block;
  for (Iterator& iterator : inner.iterators) {
    if (!moves_with(iterator.binding, outside)) continue;
    const auto parts = moves_with(iterator.binding, inside) ? parts_of(iterator, outside, inside, bounds)
                                                            : Parts{iterator.binding, nullptr, 1};
    if (!parts)
      return refuse(kName, loop_name,
                    fmt::format("iterator {} = {} is not the sum of a multiple of f from the outer loops and 0 to f - "
                                "1 from the inner ones",
                                iterator.var->name, loops::to_string(iterator.binding)),
                    "split and reorder so that whole tiles are inside");
    taken.push_back(free_name(program, fmt::format("{}.{}", outer.name, iterator.var->name), taken));
    const Var var = make_var(taken.back(), iterator.var->dtype);
    outer.iterators.push_back({var, iterator.extent / parts->factor, iterator.kind, parts->outer});
    iterator.binding = parts->inner ? ref(var) * parts->factor + parts->inner : ref(var);
  }
  const Stmt block_stmt = blocks_below(nest).front().back();
  outer.body = replace(nest, block_stmt, make_stmt(std::move(inner)));
  BlockRegions regions = infer_regions(outer, intrinsics);
  outer.reads = std::move(regions.reads);
  outer.writes = std::move(regions.writes);
  Program result = program;
  result.body = replace(program.body, nest, make_stmt(std::move(outer)));
  return if_proven(std::move(result), {step.results[0]}, intrinsics, kName, loop_name,
                   "split and reorder so that whole tiles are inside");
}

}  // namespace dovetail::schedule
