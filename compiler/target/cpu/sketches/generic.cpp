// Any group: blocks stay in order; each nest is parallelized, and vectorized along the innermost dimension of its
// result.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/target/cpu/sketches/nest.h"
#include "compiler/target/cpu/sketches/sketches.h"
#include "compiler/target/cpu/sketches/step_sums.h"
#include "loops/combine.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kParallelWork = 16 << 10;  // fewer points are not worth threads
constexpr std::int64_t kFewestRows = 8;           // rows that threads share without splitting
constexpr std::int64_t kManyRows = 128;           // enough for any number of threads
constexpr std::int64_t kFewestWhole = 4;          // number of vectors at which a partial last one does not matter
constexpr const char* kNone = "none";
const std::vector<std::int64_t> kVectors{1, 2, 4};  // vectors per piece
const std::vector<std::int64_t> kRows{1, 2, 4, 8};  // rows that are reduced at once

// Number of blocks that read the buffer.
int readers(const schedule::Context& c, const Buffer& buffer) {
  int count = 0;
  for (const std::string& name : c.blocks())
    for (const Region& read : c.block(name)->reads) count += read.buffer == buffer;
  return count;
}

bool is_costly(const Block& block) {
  bool costly = false;
  visit_exprs(block.body, [&](const Expr& e) {
    if (const auto* n = std::get_if<Unary>(&e->node)) costly |= n->op > UnaryOp::rsqrt || n->op == UnaryOp::exp;
    costly |= std::holds_alternative<Call>(e->node);
  });
  return costly;
}

// Only a table look-up: there is no computation to vectorize, and lanes would be split for their loads.
bool is_look_up(const Store& store) {
  const Expr* value = &store.targets[0].value;
  while (const auto* cast = std::get_if<Cast>(&(*value)->node)) value = &cast->a;
  const auto* load = std::get_if<LoadExpr>(&(*value)->node);
  bool data = false;
  if (load != nullptr)
    for (const Expr& index : load->indices)
      visit_exprs(index, [&](const Expr& e) { data |= std::holds_alternative<LoadExpr>(e->node); });
  return data;
}

// A reduction along the innermost dimension of its operand is left to LLVM's vectorizer; a reduction across it is
// vectorized.
bool reduces_across(const Block& block, const StoreTarget& target, const VarNode* lane) {
  bool across = true;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->indices.empty() || load->buffer == target.buffer) return;
    bool in_last = false, anywhere = false;
    for (std::size_t d = 0; d < load->indices.size(); ++d)
      visit_exprs(load->indices[d], [&](const Expr& i) {
        const auto* n = std::get_if<VarRef>(&i->node);
        if (n == nullptr || n->var.get() != lane) return;
        anywhere = true;
        in_last |= d + 1 == load->indices.size();
      });
    across &= in_last || !anywhere;
  });
  return across;
}

// Whether the block's reduction is associative: minima, maxima, sums of integers and of products.
bool joins_in_any_order(const Block& block, const Store& store) {
  const auto combine = combine_of(store.targets);
  if (!combine || combine->selects()) return false;
  const BinaryOp op = *combine->operations.front();
  return op == BinaryOp::min || op == BinaryOp::max || !is_floating(store.targets[0].buffer->dtype) ||
         is_product_sum(block);
}

// Fuses nested reduction loops over contiguous memory into one, which LLVM vectorizes. If the reduction may be
// reordered, the loops are first put in the memory order of the operand with most of them.
void fuse_reduction(schedule::Context& c, const std::string& name) {
  std::vector<std::string> loops = by_stride(c, name, nest_of(c, name).reduce);
  if (loops.size() > 1) c.attempt("reorder", loops);
  std::size_t first = loops.empty() ? 0 : loops.size() - 1;
  while (first > 0 && follow_in_memory(c, name, loops[first - 1], loops[first])) --first;
  for (std::size_t i = loops.size(); i-- > first + 1;) {
    const std::string fused = loops[i - 1] + "_" + loops[i].substr(loops[i].find_last_of('.') + 1);
    if (!c.attempt("fuse", {loops[i - 1], loops[i]}, {fused})) return;
    loops[i - 1] = fused;
  }
}

// The vectorized loop, split into pieces of one or more vectors.
struct Lanes {
  std::string pieces, vectors, lane;  // "" if there is one iteration
};
Lanes cut_into_lanes(schedule::Context& c, const std::string& loop, std::int64_t lanes, std::int64_t vectors) {
  const auto [pieces, piece] = c.tile(loop, lanes * vectors);
  if (vectors == 1) return {pieces, "", piece};
  const auto [several, lane] = c.tile(piece, lanes);
  return {pieces, several, lane};
}

void write_out(schedule::Context& c, const Lanes& cut) {
  if (c.attempt("vectorize", {cut.lane}) && !cut.vectors.empty()) c.attempt("unroll", {cut.vectors});
}

std::int64_t points_of(const schedule::Context& c, const std::vector<std::string>& loops) {
  std::int64_t product = 1;
  for (const std::string& loop : loops) product *= c.extent(loop);
  return product;
}

// Splits the innermost loop into pieces of this many vectors; returns the loops around them. nullopt if a step was
// rejected.
std::optional<std::vector<std::string>> vectorize_nest(schedule::Context& c, const std::string& name, const Nest& nest,
                                                       std::int64_t lanes, std::int64_t vectors, bool look_up) {
  std::vector<std::string> outer = nest.spatial;
  std::erase(outer, nest.innermost);
  const std::int64_t extent = c.extent(nest.innermost);
  if (extent < kFewestLanes) return outer;
  std::vector<std::string> order = outer;
  if (nest.reduce.empty()) {
    order.push_back(nest.innermost);
    if (order.size() > 1 && !c.attempt("reorder", order)) return std::nullopt;
    const Lanes cut = cut_into_lanes(c, nest.innermost, lanes, vectors);
    if (!look_up) write_out(c, cut);
    // A partial last piece must be its own loop at the end, so that peeling can separate it.
    const bool whole = c.extent(cut.pieces) * lanes * vectors == extent;
    if (!cut.pieces.empty() && (whole || points_of(c, outer) < kFewestRows)) outer.push_back(cut.pieces);
    return outer;
  }
  // The sums of the vectors stay in registers during the reduction.
  const Lanes cut = cut_into_lanes(c, nest.innermost, lanes, vectors);
  if (!cut.pieces.empty()) order.push_back(cut.pieces);
  order.insert(order.end(), nest.reduce.begin(), nest.reduce.end());
  if (!cut.vectors.empty()) order.push_back(cut.vectors);
  order.push_back(cut.lane);
  if (!c.attempt("reorder", order)) return std::nullopt;
  const std::string init = name + ".init";
  if (c.attempt("decompose_reduction", {name, nest.reduce.front()}, {init})) {
    write_out(c, cut);
    const std::string of_init = init + ".";
    for (const std::string& loop : c.loops_of(init))
      if (loop.starts_with(init)) c.attempt(loop == of_init + cut.vectors ? "unroll" : "vectorize", {loop});
  }
  if (!cut.pieces.empty()) outer.push_back(cut.pieces);
  return outer;
}

// Splits the innermost loop into vectors, and the other loop into as many elements as a transposition handles at once,
// in cache lines, each of which is used completely before the next ones are read; returns the loops around. nullopt if
// a step was rejected.
std::optional<std::vector<std::string>> transpose_nest(schedule::Context& c, const Nest& nest, std::int64_t lanes,
                                                       const Across& across) {
  std::vector<std::string> outer = nest.spatial;
  std::erase(outer, nest.innermost);
  std::erase(outer, across.loop);
  std::int64_t whole = across.line;  // or the part of a line that leaves no partial line at the end
  while (whole > across.elements && c.extent(across.loop) % whole != 0) whole -= across.elements;
  if (c.extent(across.loop) % whole != 0) whole = across.line;
  const auto [lines, line] = c.tile(across.loop, whole);
  const auto [tiles, element] = c.tile(line, across.elements);
  const auto [pieces, lane] = c.tile(nest.innermost, lanes);
  std::vector<std::string> order = outer;
  for (const std::string& loop : {lines, pieces, tiles, element, lane})
    if (!loop.empty()) order.push_back(loop);
  if (!c.attempt("reorder", order)) return std::nullopt;
  c.attempt("vectorize", {lane});
  c.attempt("unroll", {element});
  for (const std::string& loop : {lines, pieces})
    if (!loop.empty() && points_of(c, outer) < kFewestRows) outer.push_back(loop);
  return outer;
}

// A reduction along rows of its operand with dependent steps: interleaves this many independent rows. Returns the loops
// around them; nullopt if a step was rejected.
std::optional<std::vector<std::string>> interleave_rows(schedule::Context& c, const std::string& name, const Nest& nest,
                                                        const std::string& row, std::int64_t rows) {
  const auto [outer_row, inner_row] = c.tile(row, rows);
  std::vector<std::string> outer;
  for (const std::string& loop : nest.spatial) outer.push_back(loop == row ? outer_row : loop);
  std::erase(outer, "");
  std::vector<std::string> order = outer;
  order.insert(order.end(), nest.reduce.begin(), nest.reduce.end());
  order.push_back(inner_row);
  const std::string init = name + ".init";
  if (!c.attempt("reorder", order)) return outer;
  if (!c.attempt("decompose_reduction", {name, nest.reduce.front()}, {init})) return std::nullopt;
  c.attempt("unroll", {inner_row});
  return outer;
}

// Parallelizes as many outer loops as are needed and can be fused: each fused index costs a division.
void share_among_threads(schedule::Context& c, const std::vector<std::string>& outer) {
  std::string fused;
  for (const std::string& loop : outer) {
    if (!fused.empty() && c.extent(fused) >= kManyRows) break;
    if (fused.empty()) {
      fused = loop;
      continue;
    }
    const std::string next = fused + "_" + loop.substr(loop.find_last_of('.') + 1);
    if (!c.attempt("fuse", {fused, loop}, {next})) break;
    fused = next;
  }
  if (!fused.empty() && c.extent(fused) > 1) c.attempt("parallel", {fused});
}

// The vectorized loop, or kNone: the analytic choice is the innermost one in memory.
std::string sample_lane_loop(schedule::Context& c, const Nest& nest, bool innermost, int number) {
  std::vector<std::string> loops{kNone};
  for (const std::string& loop : nest.spatial)
    if (c.extent(loop) >= kFewestLanes) loops.push_back(loop);
  const std::string analytic = innermost && c.extent(nest.innermost) >= kFewestLanes ? nest.innermost : kNone;
  return loops.size() == 1 ? analytic : c.sample(fmt::format("lanes{}", number), loops, analytic);
}

// As many independent sums as can be in flight, if there are enough.
std::int64_t vectors_of_sum(std::int64_t extent, std::int64_t lanes, const Cpu& cpu) {
  std::int64_t vectors = 1;
  for (const std::int64_t more : kVectors)
    if (more * lanes <= extent && more <= cpu.product_latency * cpu.products_per_cycle) vectors = more;
  return vectors;
}

// With little computation, computing the address of a piece costs as much as the piece: use several vectors if they
// divide the row.
std::int64_t vectors_of_piece(std::int64_t extent, std::int64_t lanes, bool costly) {
  std::int64_t vectors = 1;
  for (const std::int64_t more : kVectors)
    if (!costly && extent % (more * lanes) == 0) vectors = more;
  return vectors;
}

// `number`: of the block; used in the names of its decisions.
void schedule_block(schedule::Context& c, const std::string& name, const Cpu& cpu, int number) {
  const Block* block = c.block(name);
  const auto* store = std::get_if<Store>(&block->body->node);
  if (store == nullptr || c.loops_of(name).size() != block->iterators.size()) return;
  if (std::ranges::any_of(block->iterators, [](const Iterator& i) { return i.kind == IterKind::ordered; })) return;
  std::int64_t points = 1;
  for (const Iterator& iterator : block->iterators) points *= iterator.extent;
  if (points == 0) return;
  const bool any_order = joins_in_any_order(*block, *store);
  split_into_blocks(c, name, any_order);
  block = c.block(name);  // a step replaces it
  store = std::get_if<Store>(&block->body->node);
  const StoreTarget& target = store->targets[0];
  Nest nest = nest_of(c, name);
  bool in_lanes = !nest.innermost.empty() && (nest.reduce.empty() || reduces_across(*block, target, nest.lane));
  const int widest = cpu.lanes(size_bytes(target.buffer->dtype));
  const bool costly = is_costly(*block), look_up = is_look_up(*store);
  const bool waits = is_floating(target.buffer->dtype) && !any_order;  // each step depends on the previous one
  Across across;
  std::int64_t lanes = widest, vectors = 1;
  if (!look_up) {
    if (const std::string loop = sample_lane_loop(c, nest, in_lanes, number); loop != kNone) {
      in_lanes = true, nest.innermost = loop;
      lanes = vector_lanes(c.extent(loop), widest);
    } else {
      in_lanes &= c.extent(nest.innermost) < kFewestLanes;
      if (in_lanes) lanes = c.extent(nest.innermost);
    }
    if (in_lanes) across = across_lanes(c, name, nest, cpu);
    if (!across.loop.empty()) {
      if (c.extent(nest.innermost) >= kFewestWhole * widest) lanes = widest;  // plus a partial last piece
      across.elements = c.sample(fmt::format("line{}", number), {1, across.elements}, across.elements);
    } else if (in_lanes && c.extent(nest.innermost) >= std::max(2 * lanes, kFewestLanes)) {
      vectors = c.sample(fmt::format("vectors{}", number), kVectors,
                         nest.reduce.empty() ? vectors_of_piece(c.extent(nest.innermost), lanes, costly)
                                             : vectors_of_sum(c.extent(nest.innermost), lanes, cpu));
    }
  }
  std::string row;
  std::int64_t rows = 1;
  if (!in_lanes && !nest.reduce.empty()) {
    for (const std::string& loop : nest.spatial)
      if (c.extent(loop) > 1) row = loop;
    std::vector<std::int64_t> several;
    for (const std::int64_t some : kRows)
      if (some <= c.extent(row)) several.push_back(some);
    // LLVM's vectorizer reassociates reductions that allow it.
    if (several.size() > 1) rows = c.sample(fmt::format("rows{}", number), several, waits ? several.back() : 1);
    if (rows == 1 && any_order) {
      fuse_reduction(c, name);
      nest = nest_of(c, name);
    }
  }
  auto outer = across.elements > 1 ? transpose_nest(c, nest, lanes, across)
               : in_lanes          ? vectorize_nest(c, name, nest, lanes, vectors, look_up)
               : rows > 1          ? interleave_rows(c, name, nest, row, rows)
                                   : std::optional(nest.spatial);
  // The last loop is not fused if the loops around it are enough: its index then advances by steps.
  if (!in_lanes && rows == 1 && outer->size() > 1 && points_of(c, *outer) / c.extent(outer->back()) >= kFewestRows)
    outer->pop_back();
  if (outer && points >= kParallelWork) share_among_threads(c, *outer);
}

}  // namespace

void prepare_generic(Preparation& p) {
  prepare_step_sums(p);
  const Block* block = p.block("conv");
  if (block == nullptr || block->writes.front().buffer->dtype != DType::int32) return;
  const std::vector<Region> reads = block->reads;
  for (const Region& read : reads) p.bound_accumulator("conv", read.buffer->name);
}

bool sketch_generic(schedule::Context& c, const Cpu& cpu) {
  follow_layouts(c, weights_of_step_sums(c.task.program, cpu));
  // Elementwise chains become one block.
  for (const std::string& name : c.blocks()) {
    const Block& block = *c.block(name);
    if (block.init || block.writes.size() != 1) continue;
    const auto* store = std::get_if<Store>(&block.body->node);
    const bool cheap = !is_costly(block) && !(store != nullptr && is_look_up(*store));
    if (readers(c, block.writes.front().buffer) == 1 || cheap) c.attempt("inline", {name});
  }
  const std::set<std::string> step_sums = schedule_step_sums(c, cpu);
  int number = 0;
  for (const std::string& name : c.blocks()) {
    if (!step_sums.contains(name)) schedule_block(c, name, cpu, number);
    ++number;
  }
  return true;
}

}  // namespace dovetail::cpu
