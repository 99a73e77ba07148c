// rfactor BLOCK LOOP -> PARTIAL
//
//   for i { for ko { for ki { B: Y[i] = Y[i] + f(i, ko * 4 + ki) } } }
//   ==>   for i { for ko { for ki { PARTIAL: P[ko, i] = P[ko, i] + f(i, ko * 4 + ki) } } }     for i { for ko { B: Y[i]
//   = Y[i] + P[ko, i] } }    (LOOP ko)
//
// Splits a reduction into partial results, one for each iteration of LOOP, whose iterations then are independent; a
// second nest joins them. Legal where BLOCK is one reduction with +, *, min or max, alone in its nest, which starts at
// the operation's identity (min and max may start anywhere), LOOP feeds its reduce iterators alone, and every partial
// result starts exactly once.
#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

bool is_identity(BinaryOp op, const Expr& value) {
  if (op == BinaryOp::min || op == BinaryOp::max)
    return std::holds_alternative<IntImm>(value->node) || std::holds_alternative<FloatImm>(value->node);
  const double wanted = op == BinaryOp::add ? 0 : 1;
  if (const auto* n = std::get_if<IntImm>(&value->node)) return static_cast<double>(n->value) == wanted;
  const auto* n = std::get_if<FloatImm>(&value->node);
  return n != nullptr && n->value == wanted;
}

}  // namespace

Result<Program> apply_rfactor(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  constexpr std::string_view kName = "rfactor";
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kName));
  DOVETAIL_ASSIGN(const Path loop_path, require_loop(program, step.arguments[1], kName));
  const Block& block = *as_block(path.back());
  const For& loop = *as_for(loop_path.back());
  DOVETAIL_TRY(require_no_inner_block(block, kName, name));
  const auto loops = loops_of(path);
  if (std::find(loops.begin(), loops.end(), &loop) == loops.end())
    return refuse(kName, name, fmt::format("loop {} is not around the block", step.arguments[1]),
                  "name a loop around it");
  const Stmt top = top_statement(path);
  if (only_block(top) != &block)
    return refuse(kName, name, "its nest holds more than the block",
                  "take this step before compute_at moves blocks in");
  for (const For* around : loops)
    if (around->kind == ForKind::thread)
      return refuse(kName, name, fmt::format("loop {} is bound to {}", around->var->name, around->thread_axis),
                    "take this step before bind");

  const auto* start = block.init ? std::get_if<Store>(&block.init->node) : nullptr;
  const auto* update = std::get_if<Store>(&block.body->node);
  if (!start || !update || start->targets.size() != 1 || update->targets.size() != 1)
    return refuse(kName, name, "it is not one store with an init",
                  "name a reduction that was not decomposed or tensorized");
  const StoreTarget& target = update->targets[0];
  const auto* combine = std::get_if<Binary>(&target.value->node);
  const Expr own = load(target.buffer, target.indices);
  const bool first = combine && structurally_equal(combine->a, own);
  const bool known = combine && (combine->op == BinaryOp::add || combine->op == BinaryOp::mul ||
                                 combine->op == BinaryOp::min || combine->op == BinaryOp::max);
  if (!known || first == structurally_equal(combine->b, own))
    return refuse(kName, name, "it does not combine its result with a value by +, *, min or max",
                  "rfactor sums, products, minima and maxima");
  if (!is_identity(combine->op, start->targets[0].value))
    return refuse(kName, name,
                  fmt::format("it starts at {}, so partial results cannot", loops::to_string(start->targets[0].value)),
                  "start at the identity, and add the rest afterwards");
  const Expr value = first ? combine->b : combine->a;
  const auto dimensions = dimensions_of(block, target.indices, *target.buffer);
  if (!dimensions || !one_to_one(block, *dimensions))
    return refuse(kName, name,
                  fmt::format("the indices of {} are not distinct spatial iterators of the block", target.buffer->name),
                  "take this step before transform_layout");

  // The partial block: LOOP becomes a spatial iterator, every other loop of the reduction a reduce iterator of its own.
  Block partial;
  if (step.results.empty()) step.results = {name + ".partial"};
  partial.name = step.results[0];
  DOVETAIL_TRY(require_new_name(program, partial.name, kName, name));
  std::vector<std::string> taken{partial.name};
  const auto fresh_var = [&](const std::string& wanted, DType dtype) {
    taken.push_back(free_name(program, wanted, taken));
    return make_var(taken.back(), dtype);
  };
  const Var part = fresh_var("v" + loop.var->name, loop.var->dtype);
  VarMap of_loops{{loop.var.get(), ref(part)}}, of_iterators;
  partial.iterators.push_back({part, loop.extent, IterKind::spatial, ref(loop.var)});
  bool feeds = false;
  std::vector<Iterator> spatial;
  for (const Iterator& iterator : block.iterators) {
    const bool moves = mentions(iterator.binding, loop.var);
    if (iterator.kind == IterKind::spatial) {
      if (moves)
        return refuse(kName, name,
                      fmt::format("loop {} moves the spatial iterator {}", loop.var->name, iterator.var->name),
                      "name a loop of the reduction");
      const Var var = make_var(iterator.var->name, iterator.var->dtype);
      of_iterators[iterator.var.get()] = ref(var);
      partial.iterators.push_back({var, iterator.extent, IterKind::spatial, iterator.binding});
      spatial.push_back(iterator);
      continue;
    }
    if (iterator.kind == IterKind::ordered)
      return refuse(kName, name, "it has ordered iterators", "rfactor what may be combined in any order");
    feeds |= moves;
    visit_exprs(iterator.binding, [&](const Expr& expr) {
      const auto* reference = std::get_if<VarRef>(&expr->node);
      if (!reference || of_loops.count(reference->var.get())) return;
      const auto around =
          std::find_if(loops.begin(), loops.end(), [&](const For* l) { return l->var == reference->var; });
      const Var var = fresh_var("v" + reference->var->name, reference->var->dtype);
      of_loops[reference->var.get()] = ref(var);
      partial.iterators.push_back({var, (*around)->extent, IterKind::reduce, ref(reference->var)});
    });
  }
  if (!feeds)
    return refuse(kName, name, fmt::format("loop {} feeds no reduce iterator", loop.var->name),
                  "name a loop of the reduction");
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::reduce) of_iterators[iterator.var.get()] = substitute(iterator.binding, of_loops);

  // Each partial result starts where the other loops of the reduction are 0: there the predicate must hold.
  const Bounds bounds = bounds_of(loops);
  VarMap at_zero;
  for (const Iterator& iterator : partial.iterators)
    if (iterator.kind == IterKind::reduce)
      at_zero[std::get<VarRef>(iterator.binding->node).var.get()] = int_imm(0, iterator.var->dtype);
  if (block.predicate) {
    Block started = block;
    for (Iterator& iterator : started.iterators) iterator.binding = substitute(iterator.binding, at_zero);
    for (const Expr& term : conjuncts(block.predicate)) {
      std::vector<Expr> values;
      std::vector<std::int64_t> extents;
      for (const Iterator& iterator : spatial) values.push_back(iterator.binding), extents.push_back(iterator.extent);
      if (!holds_where(substitute(substitute(term, bindings_of(started)), at_zero), values, extents, bounds))
        return refuse(
            kName, name,
            fmt::format("where its predicate {} fails, a partial result would have no start", loops::to_string(term)),
            "split by a factor that divides");
    }
    partial.predicate = substitute(substitute(block.predicate, of_iterators), of_loops);
  }
  std::vector<Expr> values;
  std::vector<std::int64_t> extents;
  Shape shape{loop.extent};
  std::vector<Expr> indices{cast(DType::int64, ref(part))};
  for (const Iterator& iterator : spatial) {
    values.push_back(iterator.binding), extents.push_back(iterator.extent), shape.push_back(iterator.extent);
    indices.push_back(cast(DType::int64, of_iterators.at(iterator.var.get())));
  }
  if (!covers(values, extents, loops))
    return refuse(kName, name, "its loops are not shown to reach every element of the result",
                  "take this step before split and fuse");
  const Buffer buffer = make_buffer(partial.name, target.buffer->dtype, shape, target.buffer->scope);
  const Expr part_value = substitute(value, of_iterators);
  bool depends = false;
  visit_exprs(value, [&](const Expr& e) {
    const auto* access = std::get_if<LoadExpr>(&e->node);
    depends |= access && access->buffer == target.buffer;
  });
  if (depends)
    return refuse(kName, name, fmt::format("what it combines depends on {}", target.buffer->name), "leave it as it is");
  partial.init = store(buffer, indices, start->targets[0].value);
  const Expr sum = load(buffer, indices);
  partial.body =
      store(buffer, indices, first ? binary(combine->op, sum, part_value) : binary(combine->op, part_value, sum));
  partial = with_inferred_regions(std::move(partial));
  if (!starts_once(partial, {}, loops))
    return refuse(kName, name, "a partial result is not shown to start once, before all parts of it",
                  "take this step before fuse");

  // The joining nest, in loops over the iterators.
  Block join = block;
  join.predicate = nullptr;
  join.iterators.clear();
  std::vector<For> nest;
  std::vector<Expr> from;
  VarMap to_join;
  const auto add = [&](const std::string& iterator_name, DType dtype, std::int64_t extent, IterKind kind,
                       const std::string& loop_name) {
    const Var var = make_var(iterator_name, dtype), around = fresh_var(loop_name, dtype);
    join.iterators.push_back({var, extent, kind, ref(around)});
    nest.push_back({around, extent, ForKind::serial, "", {}, nullptr});
    return var;
  };
  for (const Iterator& iterator : spatial)
    to_join[iterator.var.get()] = ref(add(iterator.var->name, iterator.var->dtype, iterator.extent, IterKind::spatial,
                                          name + "." + iterator.var->name));
  from.push_back(
      cast(DType::int64, ref(add(part->name, part->dtype, loop.extent, IterKind::reduce, name + "." + part->name))));
  for (const Iterator& iterator : spatial) from.push_back(cast(DType::int64, to_join.at(iterator.var.get())));
  std::vector<Expr> to;
  for (const Expr& index : target.indices) to.push_back(substitute(index, to_join));
  join.init = substitute(block.init, to_join);
  join.body = store(target.buffer, to, binary(combine->op, load(target.buffer, to), load(buffer, from)));
  Stmt joined = make_stmt(with_inferred_regions(std::move(join)));
  for (auto around = nest.rbegin(); around != nest.rend(); ++around) {
    around->body = std::move(joined);
    joined = make_stmt(std::move(*around));
  }
  Program result = program;
  result.allocations.push_back(buffer);
  result.body =
      replace(program.body, top, sequence({replace(top, path.back(), make_stmt(std::move(partial))), joined}));
  return if_proven(std::move(result), {step.results[0], name}, intrinsics, kName, name,
                   "take this step before split and fuse");
}

}  // namespace dovetail::schedule
