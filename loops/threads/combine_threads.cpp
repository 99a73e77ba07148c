#include "loops/threads/combine_threads.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "loops/combine.h"
#include "loops/rewrite.h"
#include "loops/threads/accesses.h"

namespace dovetail::loops {

namespace {

bool mentions(const Expr& expr, const VarNode* var) {
  bool found = false;
  if (expr)
    visit_exprs(expr, [&](const Expr& e) {
      const auto* n = std::get_if<VarRef>(&e->node);
      found |= n != nullptr && n->var.get() == var;
    });
  return found;
}

// The update inside a loop over threads, with its condition if it has one.
struct Joining {
  const CoreLoop* loop;
  const CoreStore* store;
  Expr condition;  // null: none
  Combine combine;
};

std::optional<Joining> joining(const CoreLoop& loop) {
  if (loop.kind != ForKind::thread) return std::nullopt;
  Core inner = loop.body;
  Expr condition;
  while (const auto* n = std::get_if<CoreIf>(&inner->node)) {
    if (n->else_body) return std::nullopt;
    condition = condition ? logical_and(condition, n->condition) : n->condition;
    inner = n->then_body;
  }
  const auto* store = std::get_if<CoreStore>(&inner->node);
  if (store == nullptr) return std::nullopt;
  for (const StoreTarget& target : store->targets)
    if (std::ranges::any_of(target.indices, [&](const Expr& e) { return mentions(e, loop.var.get()); }))
      return std::nullopt;
  auto combine = combine_of(store->targets);
  if (!combine) return std::nullopt;
  return Joining{&loop, store, condition, *std::move(combine)};
}

// How the threads of an axis are distributed over warps.
struct Lanes {
  std::int64_t stride = 1;   // lanes between neighbors on the axis
  std::int64_t in_warp = 1;  // number of neighbors in one warp; a power of 2
  std::uint32_t mask = ~std::uint32_t{0};
};

// Shuffles need complete warps, or one warp with all threads of the block.
Lanes lanes_of(const std::string& axis, const std::vector<BoundAxis>& axes) {
  std::int64_t stride = 1, threads = 1, extent = 1;
  for (const char* one : {"thread.x", "thread.y", "thread.z"}) {
    const auto found = std::ranges::find(axes, one, &BoundAxis::axis);
    const std::int64_t here = found == axes.end() ? 1 : found->extent;
    if (axis == one) stride = threads, extent = here;
    threads *= here;
  }
  Lanes lanes{stride, 1, ~std::uint32_t{0}};
  const bool whole = threads % kWarpLanes == 0;
  if ((!whole && threads > kWarpLanes) || !std::has_single_bit(static_cast<std::uint64_t>(stride)) ||
      stride >= kWarpLanes)
    return lanes;
  const std::int64_t power = extent & -extent;  // the largest power of 2 that divides it
  lanes.in_warp = std::min(power, kWarpLanes / stride);
  if (!whole) lanes.mask = (std::uint32_t{1} << threads) - 1;
  return lanes;
}

class Combiner {
 public:
  Combiner(const std::vector<BoundAxis>& axes, Bounds& bounds) : axes_(axes), bounds_(bounds) {}

  CombinedThreads result;
  std::optional<std::string> problem;

  // `around`: the enclosing loops over threads.
  Core combine(const Core& core, std::vector<const CoreLoop*> around, bool divergent) {
    if (!core || !has_thread_loops(core)) return core;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      if (const auto found = joining(*loop)) return tree(*found, around, divergent);
      if (loop->kind == ForKind::thread) around.push_back(loop);
      CoreLoop copy = *loop;
      copy.body = combine(loop->body, std::move(around), divergent);
      return make_core(std::move(copy));
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node)) {
      for (const CoreLoop* thread : around) divergent |= mentions(n->condition, thread->var.get());
      return core_if(n->condition, combine(n->then_body, around, divergent), combine(n->else_body, around, divergent));
    }
    std::vector<Core> body;
    for (const Core& part : std::get<CoreSequence>(core->node).body) body.push_back(combine(part, around, divergent));
    return core_sequence(std::move(body));
  }

 private:
  using Places = std::vector<LoadExpr>;  // one for each target
  static Places at(const std::vector<Buffer>& buffers, const std::vector<Expr>& indices) {
    Places places;
    for (const Buffer& buffer : buffers) places.push_back({buffer, indices});
    return places;
  }
  static std::vector<Expr> load_all(const Places& places) {
    std::vector<Expr> loads;
    for (const LoadExpr& place : places) loads.push_back(load(place.buffer, place.indices));
    return loads;
  }
  Core assign(const Places& places, const std::vector<Expr>& values) const {
    CoreStore all{{}, block_, {}, false};
    for (std::size_t i = 0; i < places.size(); ++i)
      all.targets.push_back({places[i].buffer, places[i].indices, values[i]});
    return make_core(std::move(all));
  }
  std::vector<Buffer> buffers(const CoreStore& store, std::string_view what, const Shape& shape,
                              std::vector<Buffer>& list) const {
    std::vector<Buffer> made;
    for (const StoreTarget& target : store.targets)
      made.push_back(make_buffer(fmt::format("{}.{}", target.buffer->name, what), target.buffer->dtype, shape));
    list.insert(list.end(), made.begin(), made.end());
    return made;
  }

  Var loop_var(const std::string& name, std::int64_t extent) {
    const Var var = make_var(name);
    bounds_[var.get()] = {0, extent - 1};
    return var;
  }
  // All threads of the axis run `body`, a function of the coordinate.
  template <typename Body>
  Core on_threads(const CoreLoop& loop, const Body& body) {
    const Var var = loop_var(loop.var->name, loop.extent);
    return make_core(CoreLoop{var, loop.extent, ForKind::thread, loop.thread_axis, {}, body(var)});
  }

  Core tree(const Joining& n, const std::vector<const CoreLoop*>& around, bool divergent) {
    block_ = n.store->block;
    if (divergent && !problem)
      problem = fmt::format("threads combine their values of {} under a condition that differs between them",
                            n.store->targets.front().buffer->name);
    std::vector<Core> body;
    const Places own = at(buffers(*n.store, "part", {1}, result.own), {int_imm(0)});
    body.push_back(start(n, own));
    const Lanes lanes = lanes_of(n.loop->thread_axis, axes_);
    if (lanes.in_warp > 1) {
      const Places given = at(buffers(*n.store, "given", {1}, result.own), {int_imm(0)});
      body.push_back(on_threads(*n.loop, [&](const Var&) { return shuffles(n.combine, lanes, own, given); }));
    }
    if (const std::int64_t warps = n.loop->extent / lanes.in_warp; warps > 1)
      join_warps(n, lanes, warps, around, own, body);
    Places targets;
    for (const StoreTarget& target : n.store->targets) targets.push_back({target.buffer, target.indices});
    body.push_back(core_if(n.condition, assign(targets, n.combine.join(load_all(targets), load_all(own)))));
    return core_sequence(std::move(body));
  }

  // Each thread's value. If the condition is false, which it then is for all threads that contribute to the same
  // result, the value is arbitrary.
  Core start(const Joining& n, const Places& own) {
    if (mentions(n.condition, n.loop->var.get()) && !problem)
      problem = fmt::format("some threads have no value to combine into {}", n.store->targets.front().buffer->name);
    return on_threads(*n.loop, [&](const Var& var) {
      const VarMap here{{n.loop->var.get(), ref(var)}};
      std::vector<Expr> values, none;
      for (const Expr& value : n.combine.values) {
        values.push_back(substitute(value, here));
        none.push_back(constant(0, value->dtype));
      }
      const Core value = assign(own, values);
      return n.condition ? core_sequence({assign(own, none), core_if(n.condition, value)}) : value;
    });
  }

  Core shuffles(const Combine& combine, const Lanes& lanes, const Places& own, const Places& given) const {
    std::vector<Core> body;
    for (std::int64_t distance = lanes.in_warp / 2; distance >= 1; distance /= 2) {
      for (std::size_t i = 0; i < own.size(); ++i)
        body.push_back(make_core(CoreShuffle{given[i], own[i], distance * lanes.stride, lanes.mask}));
      body.push_back(assign(own, combine.join(load_all(own), load_all(given))));
    }
    return core_sequence(std::move(body));
  }

  void join_warps(const Joining& n, const Lanes& lanes, std::int64_t warps, const std::vector<const CoreLoop*>& around,
                  const Places& own, std::vector<Core>& body) {
    Shape shape;
    std::vector<Expr> place;
    for (const CoreLoop* thread : around) {
      shape.push_back(thread->extent);
      place.push_back(ref(thread->var));
    }
    shape.push_back(warps);
    const std::vector<Buffer> parts = buffers(*n.store, "warps", shape, result.shared);
    const auto part = [&](const Expr& warp) {
      std::vector<Expr> indices = place;
      indices.push_back(warp);
      return at(parts, indices);
    };
    body.push_back(on_threads(*n.loop, [&](const Var& var) {
      const Expr first =
          lanes.in_warp == 1 ? nullptr : binary(BinaryOp::eq, floor_mod(ref(var), lanes.in_warp), int_imm(0));
      return core_if(first, assign(part(simplify(floor_div(ref(var), lanes.in_warp), bounds_)), load_all(own)));
    }));
    body.push_back(on_threads(*n.loop, [&](const Var&) {
      const auto join = [&](const Expr& warp) {
        return assign(own, n.combine.join(load_all(own), load_all(part(warp))));
      };
      Core others = join(int_imm(1));
      if (warps > 2) {
        const Var warp = loop_var("warp", warps - 1);
        others = make_core(CoreLoop{warp, warps - 1, ForKind::unrolled, {}, {}, join(ref(warp) + 1)});
      }
      return core_sequence({assign(own, load_all(part(int_imm(0)))), others});
    }));
  }

  const std::vector<BoundAxis>& axes_;
  Bounds& bounds_;
  std::string block_;
};

}  // namespace

Result<CombinedThreads> combine_threads(const Core& kernel, const std::vector<BoundAxis>& axes, Bounds& bounds,
                                        const std::string& where) {
  Combiner combiner(axes, bounds);
  combiner.result.body = combiner.combine(kernel, {}, false);
  if (combiner.problem)
    return Diagnostic{"cannot lower to threads", where, *combiner.problem,
                      "move the condition into the blocks, and let each thread compute a value"};
  return std::move(combiner.result);
}

}  // namespace dovetail::loops
