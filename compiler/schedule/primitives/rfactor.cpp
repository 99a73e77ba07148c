// rfactor BLOCK LOOP -> PARTIAL
//
//   for i { for ko { for ki { B: Y[i] = Y[i] + f(i, ko * 4 + ki) } } }
//   ==>   for i { for ko { for ki { PARTIAL: P[ko, i] = P[ko, i] + f(i, ko * 4 + ki) } } }
//         for i { for ko { B: Y[i] = Y[i] + P[ko, i] } }                                       (LOOP ko)
//
// Splits a reduction into partial results, one for each iteration of LOOP, whose iterations then are independent; a
// second nest combines them. Legal if BLOCK is one reduction with +, *, min or max, or of a tuple of which the better
// one is selected (loops/combine.h), alone in its nest, which starts at the operation's identity (min, max and tuples
// may start anywhere), LOOP feeds only its reduce iterators, and every partial result starts exactly once.
#include <fmt/format.h>

#include "compiler/schedule/block_form.h"
#include "compiler/schedule/iteration.h"
#include "compiler/schedule/primitives/primitives.h"
#include "loops/combine.h"
#include "loops/print.h"

namespace dovetail::schedule {

using namespace loops;

namespace {

constexpr std::string_view kRfactor = "rfactor";

// The update of a reduction: each target is combined with a value; targets start at `starts`.
struct Reduction {
  std::vector<StoreTarget> targets;
  Combine combine;
  std::vector<Expr> starts;
};

Result<Reduction> require_reduction(const Block& block) {
  const auto* start = block.init ? std::get_if<Store>(&block.init->node) : nullptr;
  const auto* update = std::get_if<Store>(&block.body->node);
  if (!start || !update || start->targets.size() != update->targets.size())
    return refuse(kRfactor, block.name, "the block is not one store with an init",
                  "name a reduction that was not decomposed or tensorized");
  auto combine = combine_of(update->targets);
  if (!combine)
    return refuse(
        kRfactor, block.name,
        "the block does not combine its result with a value by +, *, min, max or a selection of the better one",
        "rfactor sums, products, minima, maxima, and their positions");
  Reduction reduction{update->targets, *std::move(combine), {}};
  for (std::size_t i = 0; i < update->targets.size(); ++i) {
    const StoreTarget &target = update->targets[i], &initial = start->targets[i];
    const auto same_place = [&](const StoreTarget& other) {
      return std::equal(target.indices.begin(), target.indices.end(), other.indices.begin(), other.indices.end(),
                        structurally_equal);
    };
    if (target.buffer != initial.buffer || !same_place(initial) || !same_place(update->targets.front()))
      return refuse(kRfactor, block.name,
                    fmt::format("{} is not initialized at the elements that are updated", target.buffer->name),
                    "leave the block as it is");
    if (!starts_anywhere(reduction.combine, i, initial.value))
      return refuse(
          kRfactor, block.name,
          fmt::format("the reduction starts at {}, which partial results cannot do", loops::to_string(initial.value)),
          "start at the identity, and add the initial value afterwards");
    const auto dimensions = dimensions_of(block, target.indices, *target.buffer);
    if (!dimensions || !one_to_one(block, *dimensions))
      return refuse(
          kRfactor, block.name,
          fmt::format("the indices of {} are not distinct spatial iterators of the block", target.buffer->name),
          "apply this step before transform_layout");
    reduction.starts.push_back(initial.value);
  }
  return reduction;
}

// The block is alone in its nest, one of whose loops is LOOP.
Result<void> require_own_nest(const Path& path, const For& loop) {
  const std::string& name = as_block(path.back())->name;
  const auto loops = loops_of(path);
  if (std::find(loops.begin(), loops.end(), &loop) == loops.end())
    return refuse(kRfactor, name, fmt::format("loop {} does not enclose the block", loop.var->name),
                  "name a loop that encloses the block");
  if (only_block(top_statement(path)) != as_block(path.back()))
    return refuse(kRfactor, name, "the nest contains more than the block",
                  "apply this step before compute_at moves blocks in");
  for (const For* around : loops)
    if (around->kind == ForKind::thread)
      return refuse(kRfactor, name, fmt::format("loop {} is bound to {}", around->var->name, around->thread_axis),
                    "apply this step before bind");
  return {};
}

// Variables whose names are new to the program and distinct.
struct FreshVars {
  const Program& program;
  std::vector<std::string> taken;

  Var make(const std::string& stem, DType dtype) {
    taken.push_back(free_name(program, stem, taken));
    return make_var(taken.back(), dtype);
  }
};

// The iterators of the partial block: LOOP becomes a spatial iterator, every other loop of the reduction a separate
// reduce iterator.
struct Factored {
  Var part;                         // over LOOP
  std::vector<Iterator> iterators;  // of the partial block
  VarMap of_loops, of_iterators;    // LOOP, the loops of the reduction, and the iterators of the block in terms of them
  std::vector<Iterator> spatial;    // of the block, with their bindings and extents
  std::vector<Expr> bindings;
  std::vector<std::int64_t> extents;
};

Result<Factored> factor(const Block& block, const For& loop, const std::vector<const For*>& loops, FreshVars& fresh) {
  Factored made;
  made.part = fresh.make("v" + loop.var->name, loop.var->dtype);
  made.of_loops[loop.var.get()] = ref(made.part);
  made.iterators.push_back({made.part, loop.extent, IterKind::spatial, ref(loop.var)});
  bool feeds = false;
  for (const Iterator& iterator : block.iterators) {
    const bool moves = mentions(iterator.binding, loop.var);
    if (iterator.kind == IterKind::spatial) {
      if (moves)
        return refuse(kRfactor, block.name,
                      fmt::format("loop {} drives the spatial iterator {}", loop.var->name, iterator.var->name),
                      "name a loop of the reduction");
      const Var var = make_var(iterator.var->name, iterator.var->dtype);
      made.of_iterators[iterator.var.get()] = ref(var);
      made.iterators.push_back({var, iterator.extent, IterKind::spatial, iterator.binding});
      made.spatial.push_back(iterator);
      made.bindings.push_back(iterator.binding);
      made.extents.push_back(iterator.extent);
      continue;
    }
    if (iterator.kind == IterKind::ordered)
      return refuse(kRfactor, block.name, "the block has ordered iterators",
                    "rfactor a reduction that may be combined in any order");
    feeds |= moves;
    visit_exprs(iterator.binding, [&](const Expr& expr) {
      const auto* reference = std::get_if<VarRef>(&expr->node);
      if (!reference || made.of_loops.count(reference->var.get())) return;
      const auto around =
          std::find_if(loops.begin(), loops.end(), [&](const For* l) { return l->var == reference->var; });
      const Var var = fresh.make("v" + reference->var->name, reference->var->dtype);
      made.of_loops[reference->var.get()] = ref(var);
      made.iterators.push_back({var, (*around)->extent, IterKind::reduce, ref(reference->var)});
    });
  }
  if (!feeds)
    return refuse(kRfactor, block.name, fmt::format("loop {} drives no reduce iterator", loop.var->name),
                  "name a loop of the reduction");
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::reduce)
      made.of_iterators[iterator.var.get()] = substitute(iterator.binding, made.of_loops);
  return made;
}

// Each partial result starts at the point where the other loops of the reduction are 0: the block's predicate must hold
// there.
Result<void> require_started(const Block& block, const Factored& made, const std::vector<const For*>& loops) {
  VarMap at_zero;
  for (const Iterator& iterator : made.iterators)
    if (iterator.kind == IterKind::reduce)
      at_zero[std::get<VarRef>(iterator.binding->node).var.get()] = int_imm(0, iterator.var->dtype);
  Block started = block;
  for (Iterator& iterator : started.iterators) iterator.binding = substitute(iterator.binding, at_zero);
  for (const Expr& term : conjuncts(block.predicate))
    if (!holds_where(substitute(substitute(term, bindings_of(started)), at_zero), made.bindings, made.extents,
                     bounds_of(loops)))
      return refuse(kRfactor, block.name,
                    fmt::format("where the predicate {} is false, a partial result would not be initialized",
                                loops::to_string(term)),
                    "split by a factor that divides the extent");
  return {};
}

// One store of `values`, each to its own buffer.
Stmt store_all(const std::vector<Buffer>& buffers, const std::vector<std::vector<Expr>>& places,
               const std::vector<Expr>& values) {
  Store all;
  for (std::size_t i = 0; i < buffers.size(); ++i) all.targets.push_back({buffers[i], places[i], values[i]});
  return make_stmt(std::move(all));
}

std::vector<Expr> load_all(const std::vector<Buffer>& buffers, const std::vector<std::vector<Expr>>& places) {
  std::vector<Expr> loads;
  for (std::size_t i = 0; i < buffers.size(); ++i) loads.push_back(load(buffers[i], places[i]));
  return loads;
}

Block partial_block(const std::string& name, const Block& block, const Reduction& reduction, const Factored& made,
                    const std::vector<Buffer>& buffers) {
  Block partial;
  partial.name = name;
  partial.annotations = block.annotations;
  partial.iterators = made.iterators;
  if (block.predicate) partial.predicate = substitute(substitute(block.predicate, made.of_iterators), made.of_loops);
  std::vector<Expr> indices{cast(DType::int64, ref(made.part))};
  for (const Iterator& iterator : made.spatial)
    indices.push_back(cast(DType::int64, made.of_iterators.at(iterator.var.get())));
  const std::vector<std::vector<Expr>> places(buffers.size(), indices);
  std::vector<Expr> values;
  for (const Expr& value : reduction.combine.values) values.push_back(substitute(value, made.of_iterators));
  partial.init = store_all(buffers, places, reduction.starts);
  partial.body = store_all(buffers, places, reduction.combine.join(load_all(buffers, places), values));
  return with_inferred_regions(std::move(partial));
}

// The nest that combines the partial results, in new serial loops over the spatial iterators and LOOP.
Stmt joining_nest(const Block& block, const Reduction& reduction, const Factored& made,
                  const std::vector<Buffer>& buffers, FreshVars& fresh) {
  Block join = block;
  join.predicate = nullptr;
  join.iterators.clear();
  std::vector<For> nest;
  const auto add = [&](const Var& like, std::int64_t extent, IterKind kind) {
    const Var var = make_var(like->name, like->dtype), loop = fresh.make(block.name + "." + like->name, like->dtype);
    join.iterators.push_back({var, extent, kind, ref(loop)});
    nest.push_back({loop, extent, ForKind::serial, "", {}, nullptr});
    return ref(var);
  };
  VarMap to_join;
  for (const Iterator& iterator : made.spatial)
    to_join[iterator.var.get()] = add(iterator.var, iterator.extent, IterKind::spatial);
  std::vector<Expr> from{cast(DType::int64, add(made.part, buffers[0]->shape[0], IterKind::reduce))};
  for (const Iterator& iterator : made.spatial) from.push_back(cast(DType::int64, to_join.at(iterator.var.get())));
  std::vector<Buffer> results;
  std::vector<std::vector<Expr>> places;
  for (const StoreTarget& target : reduction.targets) {
    results.push_back(target.buffer);
    places.emplace_back();
    for (const Expr& index : target.indices) places.back().push_back(substitute(index, to_join));
  }
  join.init = substitute(block.init, to_join);
  join.body =
      store_all(results, places,
                reduction.combine.join(load_all(results, places),
                                       load_all(buffers, std::vector<std::vector<Expr>>(buffers.size(), from))));
  Stmt joined = make_stmt(with_inferred_regions(std::move(join)));
  for (auto around = nest.rbegin(); around != nest.rend(); ++around) {
    around->body = std::move(joined);
    joined = make_stmt(std::move(*around));
  }
  return joined;
}

bool loads_from(const Expr& value, const Buffer& buffer) {
  bool found = false;
  visit_exprs(value, [&](const Expr& expr) {
    const auto* access = std::get_if<LoadExpr>(&expr->node);
    found |= access && access->buffer == buffer;
  });
  return found;
}

}  // namespace

Result<Program> apply_rfactor(const Program& program, Step& step, const IntrinsicTable& intrinsics) {
  const std::string& name = step.arguments[0];
  DOVETAIL_ASSIGN(const Path path, require_block(program, name, kRfactor));
  DOVETAIL_ASSIGN(const Path loop_path, require_loop(program, step.arguments[1], kRfactor));
  const Block& block = *as_block(path.back());
  const For& loop = *as_for(loop_path.back());
  const auto loops = loops_of(path);
  DOVETAIL_TRY(require_no_inner_block(block, kRfactor, name));
  DOVETAIL_TRY(require_own_nest(path, loop));
  DOVETAIL_ASSIGN(const Reduction reduction, require_reduction(block));
  if (step.results.empty()) step.results = {name + ".partial"};
  const std::string& partial_name = step.results[0];
  DOVETAIL_TRY(require_new_name(program, partial_name, kRfactor, name));

  FreshVars fresh{program, {partial_name}};
  DOVETAIL_ASSIGN(const Factored made, factor(block, loop, loops, fresh));
  DOVETAIL_TRY(require_started(block, made, loops));
  if (!covers(made.bindings, made.extents, loops))
    return refuse(kRfactor, name, "the loops do not provably reach every element of the result",
                  "apply this step before split and fuse");
  for (const StoreTarget& target : reduction.targets)
    for (const Expr& value : reduction.combine.values)
      if (loads_from(value, target.buffer))
        return refuse(kRfactor, name, fmt::format("the operand depends on {}", target.buffer->name),
                      "leave the block as it is");

  Shape shape{loop.extent};
  shape.insert(shape.end(), made.extents.begin(), made.extents.end());
  std::vector<Buffer> buffers;
  std::vector<std::string> taken;
  for (const StoreTarget& target : reduction.targets) {
    taken.push_back(buffers.empty()
                        ? partial_name
                        : free_name(program, fmt::format("{}.{}", partial_name, target.buffer->name), taken));
    buffers.push_back(make_buffer(taken.back(), target.buffer->dtype, shape, target.buffer->scope));
  }
  Block partial = partial_block(partial_name, block, reduction, made, buffers);
  if (!starts_once(partial, {}, loops))
    return refuse(kRfactor, name, "a partial result is not provably initialized exactly once, before all its parts",
                  "apply this step before fuse");
  const Stmt top = top_statement(path);
  Program result = program;
  result.allocations.insert(result.allocations.end(), buffers.begin(), buffers.end());
  result.body = replace(program.body, top,
                        sequence({replace(top, path.back(), make_stmt(std::move(partial))),
                                  joining_nest(block, reduction, made, buffers, fresh)}));
  return if_proven(std::move(result), {partial_name, name}, intrinsics, kRfactor, name,
                   "take this step before split and fuse");
}

}  // namespace dovetail::schedule
