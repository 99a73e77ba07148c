// A C compiler vectorizes what it finds, and a scalar core has few registers. So there are three forms of reductions:
//
//   dot     integer sums of products: the longest reduced axis is innermost and contiguous in both operands, and a tile
//           of 2 x 2 sums uses each loaded element twice
//   block_sums   products of few rows and packed weights: one block of a sum after the other
//   lanes   everything else: neighboring results are innermost, so that each sum keeps its order
//
// What an operand's layout does not give is copied, one row of the result at a time; constants are laid out when the
// model is compiled.
#include "compiler/target/portable/schedule.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cpu.h"
#include "compiler/schedule/context.h"
#include "compiler/schedule/task.h"
#include "loops/rewrite.h"

namespace dovetail::portable {

using namespace loops;

namespace {

constexpr std::int64_t kTile = 2;         // of sums, in two directions
constexpr std::int64_t kFewestTerms = 4;  // of the innermost axis of a dot product
constexpr std::int64_t kMostLanes = 16;   // sums of a tile of lanes
constexpr std::int64_t kFewestLanes = 4;

int readers(const schedule::Context& c, const Buffer& buffer) {
  int count = 0;
  for (const std::string& name : c.blocks())
    for (const Region& read : c.block(name)->reads) count += read.buffer == buffer;
  return count;
}

// A chain of elementwise blocks becomes one block.
void join_elementwise(schedule::Context& c) {
  for (const std::string& name : c.blocks()) {
    const Block& block = *c.block(name);
    if (block.init || block.writes.size() != 1 || readers(c, block.writes.front().buffer) != 1) continue;
    bool reduces = false;  // its reader computes each element several times
    for (const std::string& other : c.blocks())
      for (const Region& read : c.block(other)->reads)
        reduces |= read.buffer == block.writes.front().buffer && c.block(other)->init != nullptr;
    if (!reduces) c.attempt("inline", {name});
  }
}

// The only reduction of a program: a convolution, a matrix product, a pooling.
struct Reduction {
  std::string block;
  std::vector<Iterator> spatial, reduce;
  std::vector<std::string> spatial_loops, reduce_loops;
  std::vector<std::string> before;  // blocks
};

std::optional<Reduction> reduction_of(const schedule::Context& c) {
  Reduction result;
  for (const std::string& name : c.blocks()) {
    if (!c.block(name)->init) continue;
    if (!result.block.empty()) return std::nullopt;
    result.block = name;
  }
  if (result.block.empty()) return std::nullopt;
  const Block& block = *c.block(result.block);
  if (block.writes.size() != 1 || block.predicate) return std::nullopt;
  const std::vector<std::string> loops = c.own_loops(result.block);
  if (loops.size() != block.iterators.size()) return std::nullopt;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Iterator& iterator = block.iterators[i];
    const auto* binding = std::get_if<VarRef>(&iterator.binding->node);
    if (iterator.kind == IterKind::ordered || iterator.extent == 0 || binding == nullptr ||
        binding->var->name != loops[i])
      return std::nullopt;
    const bool spatial = iterator.kind == IterKind::spatial;
    (spatial ? result.spatial : result.reduce).push_back(iterator);
    (spatial ? result.spatial_loops : result.reduce_loops).push_back(loops[i]);
  }
  if (result.spatial.empty() || result.reduce.empty()) return std::nullopt;
  const std::vector<std::string> names = c.blocks();
  result.before.assign(names.begin(), std::ranges::find(names, result.block));
  return result;
}

// The dimension of a read region that moves with the iterator, one element per step; nullopt: none or several.
std::optional<std::size_t> moving_dimension(const Region& read, const Iterator& iterator) {
  std::optional<std::size_t> found;
  for (std::size_t d = 0; d < read.ranges.size(); ++d) {
    bool moves = false;
    visit_exprs(read.ranges[d].min, [&](const Expr& e) {
      const auto* n = std::get_if<VarRef>(&e->node);
      moves |= n != nullptr && n->var == iterator.var;
    });
    if (!moves) continue;
    if (found) return std::nullopt;
    const auto* n = std::get_if<VarRef>(&read.ranges[d].min->node);
    if (n == nullptr || n->var != iterator.var) return std::nullopt;
    found = d;
  }
  return found;
}

std::string moved_last(std::size_t rank, std::size_t dimension) {
  std::vector<std::string> parts;
  for (std::size_t d = 0; d < rank; ++d)
    if (d != dimension) parts.push_back(fmt::format("i{}", d));
  parts.push_back(fmt::format("i{}", dimension));
  return fmt::format("{}", fmt::join(parts, ","));
}

std::int64_t largest_divisor(std::int64_t value, std::int64_t most) {
  for (std::int64_t factor = std::min(value, most); factor > 1; --factor)
    if (value % factor == 0) return factor;
  return 1;
}

bool is_parameter(const schedule::Context& c, const std::string& name) {
  return std::ranges::any_of(c.s.program().parameters,
                             [&](const Parameter& parameter) { return parameter.buffer->name == name; });
}

// Orders the loops, and puts what is around the sums into their nest. `tile`: the innermost loops, over the
// sums of a tile; `rows`: the outer loop of which one iteration computes a row of results, or "".
void place_blocks(schedule::Context& c, const Reduction& r, const std::vector<std::string>& outer,
                  const std::vector<std::string>& reduce, const std::vector<std::string>& tile, const std::string& rows,
                  const std::vector<std::string>& copies) {
  const std::string last = c.gather_epilogue(r.block, "register");
  std::vector<std::string> order = outer;
  order.insert(order.end(), reduce.begin(), reduce.end());
  order.insert(order.end(), tile.begin(), tile.end());
  c.reorder(order);
  const std::vector<std::string> around = c.present(outer);
  if (around.empty()) return;
  c.s.reverse_compute_at(last, around.back());
  const std::vector<std::string> reduced = c.present(reduce);
  if (!c.present(tile).empty() && !reduced.empty())
    c.s.decompose_reduction(r.block, reduced.front(), r.block + ".init");
  // The sums of a tile stay in registers only if no loop is left that indexes them.
  for (const std::string& loop : c.present(tile)) c.unroll(loop);
  if (rows.empty()) return;
  for (const std::string& name : copies) c.attempt("compute_at", {name, rows});
}

bool write_dot(schedule::Context& c, const std::set<std::string>& constants) {
  const auto found = reduction_of(c);
  if (!found) return false;
  const Reduction& r = *found;
  const Block& block = *c.block(r.block);
  if (block.writes.front().buffer->dtype != DType::int32) return false;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < r.reduce.size(); ++i)
    if (r.reduce[i].extent > r.reduce[longest].extent) longest = i;
  if (r.reduce[longest].extent < kFewestTerms) return false;
  const std::string sum = block.writes.front().buffer->name;
  std::vector<std::pair<std::string, std::size_t>> moved;  // operands whose dimension becomes the last one
  std::vector<std::string> copied;
  int moving = 0;
  for (const Region& read : block.reads) {
    const std::string& name = read.buffer->name;
    const std::size_t rank = read.buffer->shape.size();
    if (name == sum || rank == 0) continue;
    const auto dimension = moving_dimension(read, r.reduce[longest]);
    if (!dimension) continue;
    ++moving;
    if (*dimension + 1 == rank) continue;
    moved.emplace_back(name, *dimension);
    if (is_parameter(c, name) && !constants.contains(name)) copied.push_back(name);
  }
  if (moving != 2) return false;
  std::vector<std::string> copies = r.before;
  for (auto& [name, dimension] : moved) {
    const std::size_t rank = c.buffer(name)->shape.size();
    if (std::ranges::find(copied, name) != copied.end()) {
      const std::string copy = name + ".rows";
      c.s.cache_read(r.block, name, "global", copy);
      if (!c.s.status().ok()) return true;
      copies.push_back(copy);
      name = copy;
    }
    c.lay_out(name, moved_last(rank, dimension));
  }
  // [n, o, y, x]: rows of one image, then tiles of channels and pixels.
  const std::size_t count = r.spatial_loops.size();
  std::vector<std::string> outer, tile;
  std::string rows;
  const auto split = [&](const std::string& loop) {
    const auto [out, in] = c.tile(loop, c.extent(loop) % kTile == 0 ? kTile : 1);
    if (!out.empty() && out != loop) outer.push_back(out);
    tile.push_back(in);
  };
  if (count >= 3) {
    outer.push_back(r.spatial_loops[0]);
    for (std::size_t i = 2; i + 1 < count; ++i) outer.push_back(r.spatial_loops[i]);
    rows = c.present(outer).empty() ? "" : c.present(outer).back();
    split(r.spatial_loops[1]);
    split(r.spatial_loops[count - 1]);
  } else {
    for (const std::string& loop : r.spatial_loops) split(loop);
  }
  std::vector<std::string> reduce;
  for (std::size_t i = 0; i < r.reduce_loops.size(); ++i)
    if (i != longest) reduce.push_back(r.reduce_loops[i]);
  reduce.push_back(r.reduce_loops[longest]);
  place_blocks(c, r, outer, reduce, tile, rows, copies);
  return true;
}

bool write_lanes(schedule::Context& c, const std::set<std::string>& constants) {
  c.attempt("inline", {"dequantize"});  // packed weights (dovetail.packed_gemm) stay packed
  const auto found = reduction_of(c);
  if (!found) return false;
  const Reduction& r = *found;
  const Block& block = *c.block(r.block);
  const std::size_t count = r.spatial_loops.size();
  // Lanes are output channels, if constants of the product depend on them alone and many terms share an activation;
  // else the innermost axis of the result.
  std::size_t lane = count - 1;
  std::vector<std::pair<std::string, std::size_t>> moved;
  const std::size_t channel = count >= 3 ? 1 : count - 1;
  if (is_floating(block.writes.front().buffer->dtype) && count >= 2 &&
      largest_divisor(r.spatial[channel].extent, kMostLanes) >= kFewestLanes) {
    bool by_channel = false, others = true;
    for (const Region& read : block.reads) {
      if (read.buffer == block.writes.front().buffer) continue;
      const auto dimension = moving_dimension(read, r.spatial[channel]);
      if (!dimension) continue;
      by_channel = true;
      if (*dimension + 1 == read.ranges.size()) continue;
      others &= constants.contains(read.buffer->name);
      moved.emplace_back(read.buffer->name, *dimension);
    }
    if (by_channel && others) lane = channel;
    else moved.clear();
  }
  for (const auto& [name, dimension] : moved) c.lay_out(name, moved_last(c.buffer(name)->shape.size(), dimension));
  std::vector<std::string> outer, tile;
  std::string rows;
  const std::int64_t lanes = largest_divisor(r.spatial[lane].extent, kMostLanes);
  for (std::size_t i = 0; i < count; ++i)
    if (i != lane && (i != 1 || count < 3)) outer.push_back(r.spatial_loops[i]);
  if (count >= 3 && lane != 1) {  // rows first, for what is copied for a row
    outer.clear();
    outer.push_back(r.spatial_loops[0]);
    for (std::size_t i = 2; i + 1 < count; ++i) outer.push_back(r.spatial_loops[i]);
    if (const auto around = c.present(outer); !around.empty()) rows = around.back();
    outer.push_back(r.spatial_loops[1]);
  } else if (count >= 3) {
    outer.clear();
    outer.push_back(r.spatial_loops[0]);
    for (std::size_t i = 2; i + 1 < count; ++i) outer.push_back(r.spatial_loops[i]);
    if (const auto around = c.present(outer); !around.empty()) rows = around.back();
  }
  const auto [out, in] = c.tile(r.spatial_loops[lane], lanes);
  if (!out.empty()) outer.push_back(out);
  if (count >= 3 && lane == 1) outer.push_back(r.spatial_loops[count - 1]);
  tile.push_back(in);
  place_blocks(c, r, outer, r.reduce_loops, tile, rows, r.before);
  return true;
}

// Products of few rows and packed weights (dovetail.packed_gemm): the sum of a block is complete before the next one
// begins, so only one is stored.
bool write_block_sums(schedule::Context& c, const std::set<std::string>&) {
  constexpr const char *kBlockSums = "block_sums", *kScaledSums = "scaled_sums";
  if (c.block(kBlockSums) == nullptr || c.block(kScaledSums) == nullptr) return false;
  const std::vector<std::string> loops = c.own_loops(kScaledSums);  // m, n, b
  c.s.compute_at(kBlockSums, loops.back());
  return true;
}

bool write_elementwise(schedule::Context& c, const std::set<std::string>&) {
  join_elementwise(c);
  return true;
}

struct Form {
  std::string_view kind;
  bool (*write)(schedule::Context& c, const std::set<std::string>& constants);
};
constexpr Form kForms[] = {
    {"dot", write_dot}, {"block_sums", write_block_sums}, {"lanes", write_lanes}, {"elementwise", write_elementwise}};

}  // namespace

PortableSchedule schedule_portable(const Program& program, const std::set<std::string>& constants) {
  schedule::Task task;
  task.target = bundle::kCpuTarget;
  task.program = program;
  for (const Form& form : kForms) {
    schedule::Context c(task);
    if (!form.write(c, constants)) continue;
    if (auto scheduled = c.finish(); scheduled.ok())
      return {std::move(scheduled->program), std::move(scheduled->trace), std::string(form.kind),
              std::move(scheduled->layouts)};
  }
  return {program, {}, "none", {}};
}

}  // namespace dovetail::portable
