// split LOOP FACTOR -> OUTER INNER
//
//   for y in 10 { S(y) }   ==>   for y_0 in 3 { for y_1 in 4 { S(y_0 * 4 + y_1) } }                     (FACTOR 4)
//   where blocks get the predicate y_0 * 4 + y_1 < 10
//
// Legal if the ranges of all iterators remain proven (the split of a loop that was split and fused may not be); the
// order of iterations is unchanged. A factor that does not divide adds a predicate to every block below, and a
// condition around conditions. INNER keeps the loop's kind and annotations, OUTER is serial.
#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

using namespace loops;

constexpr std::int64_t kLargestFactor = std::int64_t{1} << 30;

namespace {

// `stmt` restricted to `inside`: as a term of the predicates of its blocks, and a condition around its conditions. The
// term comes first: later terms may load, and are not evaluated beyond the edge.
Stmt masked(const Stmt& stmt, const Expr& inside) {
  if (const For* loop = as_for(stmt)) {
    For copy = *loop;
    copy.body = masked(loop->body, inside);
    return make_stmt(std::move(copy));
  }
  if (const auto* siblings = std::get_if<Sequence>(&stmt->node)) {
    Sequence copy;
    for (const Stmt& sibling : siblings->body) copy.body.push_back(masked(sibling, inside));
    return make_stmt(std::move(copy));
  }
  if (const Block* block = as_block(stmt)) {
    Block copy = *block;
    copy.predicate = conjunction(inside, copy.predicate);
    return make_stmt(std::move(copy));
  }
  if (!std::holds_alternative<If>(stmt->node)) return stmt;
  If condition = std::get<If>(stmt->node);
  if (condition.then_body) condition.then_body = masked(condition.then_body, inside);
  if (condition.else_body) condition.else_body = masked(condition.else_body, inside);
  return make_stmt(If{inside, make_stmt(std::move(condition)), nullptr});
}

}  // namespace

Result<Program> apply_split(const Program& program, Step& step, const IntrinsicTable&) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_loop(program, name, "split"));
  DOVETAIL_ASSIGN(const std::int64_t factor, require_integer(step.arguments[1], 1, "the factor", "split"));
  if (step.results.empty()) step.results = {name + "_0", name + "_1"};
  if (factor > kLargestFactor)
    return refuse("split", name, fmt::format("the factor {} is above {}", factor, kLargestFactor),
                  "give a smaller factor");
  for (const std::string& result : step.results) DOVETAIL_TRY(require_new_name(program, result, "split", name, {name}));
  if (step.results[0] == step.results[1])
    return refuse("split", name, "both new loops have the same name", "choose another name");

  const For& loop = *as_for(path.back());
  const std::int64_t outer_extent = (loop.extent + factor - 1) / factor;
  const Var outer = make_var(step.results[0], loop.var->dtype), inner = make_var(step.results[1], loop.var->dtype);
  const Expr value = outer_extent == 1 ? ref(inner) : factor == 1 ? ref(outer) : ref(outer) * factor + ref(inner);

  Stmt body = substitute(loop.body, {{loop.var.get(), value}});
  if (outer_extent * factor != loop.extent) body = masked(body, binary(BinaryOp::lt, value, int_imm(loop.extent)));
  For inner_loop = loop;
  inner_loop.var = inner;
  inner_loop.extent = factor;
  inner_loop.body = std::move(body);
  For outer_loop{outer, outer_extent, ForKind::serial, "", {}, make_stmt(std::move(inner_loop))};

  Program result = program;
  result.body = replace(program.body, path.back(), make_stmt(std::move(outer_loop)));
  return if_iterators_proven(std::move(result), block_names(path.back()), "split", name, "split before fuse");
}

}  // namespace dovetail::schedule
