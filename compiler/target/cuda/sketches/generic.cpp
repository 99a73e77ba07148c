// Any group: blocks stay in order, with one thread per point of a block. A sum is computed by its thread, which also
// does the pointwise operations after it.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/sketches/sketches.h"
#include "loops/combine.h"
#include "loops/rewrite.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

// Fewer points are spread over more blocks.
constexpr std::int64_t kManyPoints = 1 << 16;
constexpr std::int64_t kThreads = 256, kFewThreads = 64;

// Completes each result of a sum, and uses it in the next block, where it is summed; otherwise the sum is kept there
// and written once.
void finish_in_place(schedule::Context& c, const std::string& name, const std::string& innermost) {
  const std::vector<std::string> readers = readers_of(c, name);
  if (readers.size() == 1 && c.attempt("reverse_compute_at", {readers.front(), innermost})) return;
  const schedule::Schedule before = c.s;
  const std::string kept = name + ".sum";
  if (c.attempt("cache_write", {name, c.written_by(name)->name, "register"}, {kept}) &&
      c.attempt("reverse_compute_at", {kept, innermost}))
    return;
  c.s = before;
}

// How the loops of one block are distributed.
struct Sharing {
  std::vector<std::string> spatial, others;
  std::int64_t threads;
  std::int64_t results = 1;  // per thread: neighbors on the second innermost of `spatial`
};

// Neighboring results read overlapping windows: a thread computes results below one another, so that a loaded value
// serves several of them, while neighbors in memory are still on neighboring threads.
bool overlaps(const Block& block, const Iterator& iterator) {
  bool found = false;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* n = std::get_if<LoadExpr>(&e->node);
    if (n == nullptr) return;
    for (const Expr& index : n->indices)
      found |=
          schedule::mentions(index, iterator.var) && std::ranges::any_of(block.iterators, [&](const Iterator& other) {
            return other.kind == IterKind::reduce && other.extent > 1 && schedule::mentions(index, other.var);
          });
  });
  return found;
}

// Unrolls the loops of a thread, as far as allowed.
void unroll_small(schedule::Context& c, const std::string& block, std::int64_t results) {
  constexpr std::int64_t kMostCopies = 64;
  std::vector<std::string> loops = c.own_loops(block);
  std::int64_t copies = 1;
  for (std::size_t i = loops.size(); i-- > 0 && results > 1;) {
    const auto path = schedule::find_loop(c.s.program().body, loops[i]);
    if (!path || schedule::as_for(path->back())->kind != ForKind::serial) break;
    if ((copies *= std::max<std::int64_t>(c.extent(loops[i]), 1)) > kMostCopies) break;
    c.unroll(loops[i]);
  }
}

// Returns whether everything was done; otherwise nothing was changed.
bool share_block(schedule::Context& c, const std::string& name, Sharing sharing, bool finish) {
  const schedule::Schedule before = c.s;
  std::vector<std::string> inside = sharing.others;
  if (sharing.results > 1) {
    std::string& below = sharing.spatial[sharing.spatial.size() - 2];
    inside.push_back(below + "_r");
    c.s.split(below, sharing.results, below + "_o", inside.back());
    below += "_o";
  }
  if (const auto points = share_points(c, sharing.spatial, inside, sharing.threads)) {
    if (finish) finish_in_place(c, name, points->innermost());
    // Several sums per thread are initialized together, before the first term, not separately in the loops over them.
    const bool starts =
        sharing.results == 1 || c.attempt("decompose_reduction", {name, sharing.others.front()}, {name + ".init"});
    if (starts && bind_points(c, *points)) {
      const std::string around = c.loops_of(name).front();
      for (const std::string& block : c.blocks()) {
        const std::vector<std::string> loops = c.loops_of(block);
        if (!loops.empty() && loops.front() == around) unroll_small(c, block, sharing.results);
      }
      return true;
    }
  }
  c.s = before;
  return false;
}

bool is_bound(const schedule::Context& c, const std::string& block) {
  const auto path = schedule::find_block(c.s.program().body, block);
  return path &&
         std::ranges::any_of(schedule::loops_of(*path), [](const For* loop) { return loop->kind == ForKind::thread; });
}

// If many elements are reduced to one result, threads reduce parts that are contiguous in memory, and the threads of
// one block combine these. This step creates blocks. No effect if the order matters.
void split_whole(schedule::Context& c, const std::string& name) {
  constexpr std::int64_t kFewestElements = 1 << 12, kManyElements = 1 << 17, kParts = 1 << 14;
  const Block& block = *c.block(name);
  std::vector<std::string> loops = c.own_loops(name);
  std::int64_t elements = 1;
  for (const Iterator& iterator : block.iterators)
    if (iterator.kind == IterKind::reduce) elements *= iterator.extent;
    else if (iterator.kind != IterKind::spatial || iterator.extent != 1) return;
  if (!block.init || elements < kFewestElements || loops.size() != block.iterators.size() || !may_be_joined(c, block))
    return;
  const schedule::Schedule before = c.s;
  for (std::size_t i = 1; i < loops.size(); ++i) {
    const std::string all = fmt::format("{}.all{}", name, i);
    c.s.fuse(loops[i - 1], loops[i], all);
    loops[i] = all;
  }
  std::string rest = loops.back();
  const auto split = [&](std::int64_t parts, std::string_view stage) {
    const std::string part = fmt::format("{}.{}", name, stage), own = part + "_own";
    c.s.split(rest, parts, own, part);
    c.s.rfactor(name, part, part + "s");
    c.reorder({part, own});  // in the order of the block's iterators
    if (c.s.status().ok()) rest = c.own_loops(name).back();
  };
  if (elements >= kManyElements) split(kParts, "part");
  split(kThreads, "lane");
  c.s.bind(rest, "thread.x");
  if (!c.s.status().ok()) c.s = before;
}

void schedule_block(schedule::Context& c, const std::string& name, int number) {
  const Block* block = c.block(name);
  const std::vector<std::string> loops = c.own_loops(name);
  if (block == nullptr || loops.size() != block->iterators.size() || is_bound(c, name)) return;
  std::vector<std::string> spatial, others;
  std::int64_t points = 1;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Iterator& iterator = block->iterators[i];
    (iterator.kind == IterKind::spatial ? spatial : others).push_back(loops[i]);
    if (iterator.kind == IterKind::spatial) points *= iterator.extent;
  }
  if (points <= 1) return;
  const bool sums = block->init != nullptr;
  // With enough points, each thread may compute several results.
  std::vector<std::int64_t> results{1};
  if (sums && spatial.size() >= 2 && !others.empty()) {
    const std::string& below = spatial[spatial.size() - 2];
    const auto iterator = std::ranges::find_if(block->iterators, [&](const Iterator& i) {
      const auto* n = std::get_if<VarRef>(&i.binding->node);
      return n != nullptr && n->var->name == below;
    });
    for (const std::int64_t count : {2, 4})
      if (iterator != block->iterators.end() && overlaps(*block, *iterator) && c.extent(below) >= count)
        results.push_back(count);
  }
  const std::int64_t threads = c.sample(fmt::format("threads{}", number), {32, 64, 128, 256, 512},
                                        points >= kManyPoints ? kThreads : kFewThreads);
  std::int64_t usual = 1;
  for (const std::int64_t count : results)
    if (points >= count * kManyPoints) usual = count;
  const std::int64_t several = results.size() > 1 ? c.sample(fmt::format("results{}", number), results, usual) : 1;
  if (sums && share_block(c, name, {spatial, others, threads, several}, true)) return;
  share_block(c, name, {spatial, others, threads}, false);
}

}  // namespace

bool is_costly(const Block& block) {
  bool costly = false;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<Unary>(&e->node)) costly |= n->op > UnaryOp::rsqrt || n->op == UnaryOp::exp;
    costly |= std::holds_alternative<Call>(e->node);
  });
  return costly;
}

std::vector<std::string> readers_of(const schedule::Context& c, const std::string& block) {
  std::vector<std::string> readers;
  const Buffer written = c.written_by(block);
  for (const std::string& name : c.blocks())
    if (name != block &&
        std::ranges::any_of(c.block(name)->reads, [&](const Region& r) { return r.buffer == written; }))
      readers.push_back(name);
  return readers;
}

schedule::Sketch sketch_of(const Kind& kind, const Gpu& gpu) {
  return {kind.name, kind.version,
          [write = kind.write, gpu](schedule::Context& context) { return write(context, gpu); }};
}

void inline_elementwise(schedule::Context& c, const std::vector<std::string>& kept) {
  for (const std::string& name : c.blocks()) {
    const Block& block = *c.block(name);
    if (block.init || block.writes.size() != 1 || std::ranges::find(kept, name) != kept.end()) continue;
    if (readers_of(c, name).size() == 1 || !is_costly(block)) c.attempt("inline", {name});
  }
}

std::string Points::innermost() const { return threads.empty() ? blocks.back() : threads.front().first; }

std::optional<Points> share_points(schedule::Context& c, const std::vector<std::string>& spatial,
                                   const std::vector<std::string>& inside, std::int64_t threads) {
  constexpr std::array<std::string_view, 3> kThreadAxes{"thread.x", "thread.y", "thread.z"};
  constexpr std::int64_t kMostInZ = 64;
  Points points;
  std::vector<std::string> own;  // bound to threads, innermost first
  for (std::size_t i = spatial.size(); i-- > 0;) {
    const std::int64_t extent = c.extent(spatial[i]);
    std::int64_t most = std::min(threads, extent);
    if (points.threads.size() == kThreadAxes.size() - 1) most = std::min(most, kMostInZ);
    if (points.threads.size() == kThreadAxes.size() || most <= 1) {
      points.blocks.insert(points.blocks.begin(), spatial[i]);
      continue;
    }
    // Avoids a predicate if that costs less than half of the threads.
    std::int64_t factor = most;
    for (std::int64_t divisor = most; 2 * divisor > most; --divisor)
      if (extent % divisor == 0) {
        factor = divisor;
        break;
      }
    const auto [outer, inner] = c.tile(spatial[i], factor);
    if (!outer.empty()) points.blocks.insert(points.blocks.begin(), outer);
    points.threads.emplace_back(inner, kThreadAxes[points.threads.size()]);
    threads /= factor;
  }
  if (points.blocks.empty() && points.threads.empty()) return std::nullopt;
  std::vector<std::string> order = points.blocks;
  for (std::size_t i = points.threads.size(); i-- > 0;) order.push_back(points.threads[i].first);
  order.insert(order.end(), inside.begin(), inside.end());
  if (order.size() > 1 && !c.attempt("reorder", order)) return std::nullopt;
  return points;
}

bool bind_points(schedule::Context& c, const Points& points) {
  constexpr std::array<std::string_view, 3> kBlockAxes{"block.x", "block.y", "block.z"};
  constexpr std::int64_t kMostBlocks = 65535;  // except in x
  // The innermost block loops get separate axes, the remaining loops are fused into one.
  std::vector<std::string> blocks = points.blocks;
  const auto too_many = [&] {
    return blocks.size() > kBlockAxes.size() ||
           std::any_of(blocks.begin(), blocks.end() - std::min<std::ptrdiff_t>(1, std::ssize(blocks)),
                       [&](const std::string& loop) { return c.extent(loop) > kMostBlocks; });
  };
  while (blocks.size() > 1 && too_many()) {
    const std::string fused = blocks[0] + "_" + blocks[1].substr(blocks[1].find_last_of('.') + 1);
    if (!c.attempt("fuse", {blocks[0], blocks[1]}, {fused})) return false;
    blocks.erase(blocks.begin());
    blocks.front() = fused;
  }
  // Neighbors are on block.x, which is also the longest axis.
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string axis(kBlockAxes[blocks.size() - 1 - i]);
    if (!c.attempt("bind", {blocks[i], axis})) return false;
  }
  return std::ranges::all_of(points.threads, [&](const auto& thread) {
    return c.attempt("bind", {thread.first, std::string(thread.second)});
  });
}

bool may_be_joined(const schedule::Context& c, const Block& block) {
  const auto* store = std::get_if<Store>(&block.body->node);
  const auto combine = store != nullptr ? combine_of(store->targets) : std::nullopt;
  if (!combine) return false;
  for (std::size_t i = 0; i < combine->operations.size(); ++i) {
    const auto op = combine->operations[i];
    const bool rounds = op && (*op == BinaryOp::add || *op == BinaryOp::mul) && is_floating(combine->values[i]->dtype);
    if (rounds && !c.task.facts.value(kFreeSums, false)) return false;
  }
  return true;
}

void schedule_points(schedule::Context& c) {
  int number = 0;
  for (const std::string& name : c.blocks())
    if (c.block(name) != nullptr) schedule_block(c, name, number++);
}

bool sketch_generic(schedule::Context& c, const Gpu&) {
  for (const Parameter& parameter : c.task.program.parameters)
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  inline_elementwise(c);
  for (const std::string& name : c.blocks()) split_whole(c, name);
  schedule_points(c);
  return true;
}

}  // namespace dovetail::cuda
