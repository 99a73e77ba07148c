// Products of few rows and packed weights (dovetail.packed_gemm). Lanes are columns: a vector of words holds a few
// steps of each, which are shifted out one after the other and multiplied by a broadcast activation. The sums of a
// block of steps stay in registers, and are scaled when the block is complete. Words are stored in the order in which a
// tile of columns reads them, so one row reads the weights once and in order.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/schedule/nest.h"
#include "compiler/target/cpu/sketches/sketches.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr const char *kBlockSums = "block_sums", *kScaledSums = "scaled_sums";
constexpr std::int64_t kWordSteps = 8;  // unrolled: those of a word of 4-bit steps

constexpr std::int64_t kFewestSharedProducts = 1 << 16;

struct PackedProduct {
  std::vector<std::string> loops;      // of the scaled sums: m, n, b
  std::vector<std::string> constants;  // [columns, ..]
  std::int64_t rows = 0, columns = 0, depth = 0, stored_columns = 0;
};

std::optional<PackedProduct> packed_product_of(const Program& program) {
  PackedProduct p;
  for (const char* name : {kBlockSums, kScaledSums}) {
    const auto path = schedule::find_block(program.body, name);
    const Block* block = path ? schedule::as_block(path->back()) : nullptr;
    const bool sums = name == kBlockSums;
    if (block == nullptr || !block->init || block->iterators.size() != (sums ? 4 : 3)) return std::nullopt;
    for (const Region& read : block->reads) {
      const auto* first = std::get_if<VarRef>(&read.ranges.front().min->node);
      if (first == nullptr || first->var != block->iterators[1].var || read.ranges.size() != 2) continue;
      p.constants.push_back(read.buffer->name), p.stored_columns = read.buffer->shape[0];
      if (std::ranges::none_of(program.parameters, [&](const Parameter& parameter) {
            return parameter.buffer == read.buffer && parameter.role == ParameterRole::constant;
          }))
        return std::nullopt;
    }
    if (sums) {
      p.rows = block->iterators[0].extent, p.columns = block->iterators[1].extent;
      p.depth = block->iterators[2].extent * block->iterators[3].extent;
      continue;
    }
    for (const Stmt& stmt : *path)
      if (schedule::as_for(stmt) && schedule::only_block(stmt)) p.loops.push_back(schedule::as_for(stmt)->var->name);
  }
  return p.loops.size() == 3 && p.constants.size() >= 2 ? std::optional(p) : std::nullopt;
}

// Columns of a tile: vectors of enough independent sums to hide the latency of an addition, few of them idle.
std::int64_t tile_columns(const PackedProduct& p, const Cpu& cpu) {
  constexpr std::int64_t kFewIdle = 8;  // an eighth
  const std::int64_t lanes = cpu.lanes(4), most = (cpu.vector_registers / 4 + p.rows - 1) / p.rows;
  std::int64_t width = lanes;
  for (const std::int64_t vectors : {2, 4}) {
    const std::int64_t wider = vectors * lanes, idle = (p.columns + wider - 1) / wider * wider - p.columns;
    if (vectors <= most && idle * kFewIdle <= p.columns) width = wider;
  }
  return width;
}

// Columns, the last of the loops, become lanes.
void unroll_tile(schedule::Context& c, const std::vector<std::string>& loops, std::int64_t lanes) {
  for (std::size_t i = 0; i + 1 < loops.size(); ++i) c.unroll(loops[i]);
  if (!loops.empty()) c.unroll(c.vectorize(loops.back(), lanes));
}

}  // namespace

void prepare_packed_product(Preparation& p) {
  if (const auto product = packed_product_of(p.task.program))
    p.pad_rows(product->constants, tile_columns(*product, p.cpu));
}

bool sketch_packed_product(schedule::Context& c, const Cpu& cpu) {
  const auto product = packed_product_of(c.task.program);
  if (!product) return false;
  const std::vector<std::string>& loops = product->loops;
  const std::int64_t lanes = cpu.lanes(4), analytic = tile_columns(*product, cpu);
  std::vector<std::int64_t> widths;
  for (const std::int64_t vectors : {1, 2, 4, 8})
    if (product->stored_columns % (vectors * lanes) == 0) widths.push_back(vectors * lanes);
  if (std::ranges::find(widths, analytic) == widths.end()) return false;
  const std::int64_t width = c.sample("tile_columns", widths, analytic);

  follow_layouts(c);
  const std::string last = c.gather_epilogue(kScaledSums, "register");
  c.s.set_scope(c.written_by(kBlockSums)->name, "register");
  for (const std::string& name : product->constants) c.lay_out(name, fmt::format("i0/{0},i1,i0%{0}", width));

  const std::string tiles = loops[1] + "_o", tile = loops[1] + "_i";
  c.s.split(loops[1], width, tiles, tile);
  c.reorder({tiles, loops[2], loops[0], tile});
  const std::vector<std::string> end = c.own_loops(last);
  c.s.reverse_compute_at(last, tiles);
  c.s.decompose_reduction(kScaledSums, loops[2], std::string(kScaledSums) + ".init");
  c.s.compute_at(kBlockSums, loops[2]);
  if (!c.s.status().ok()) return true;

  const std::string row = std::string(kBlockSums) + ".m", column = std::string(kBlockSums) + ".n";
  const auto [words, steps] = c.tile(std::string(kBlockSums) + ".j", kWordSteps);
  c.reorder(c.present({words, steps, row, column}));
  c.s.decompose_reduction(kBlockSums, words.empty() ? steps : words, std::string(kBlockSums) + ".init");
  if (!words.empty()) c.unroll(steps);
  for (const char* block : {kBlockSums, kScaledSums}) {
    unroll_tile(c, {c.existing(block == kBlockSums ? row : loops[0]), block == kBlockSums ? column : tile}, lanes);
    std::vector<std::string> start;
    for (const std::string& loop : c.own_loops(std::string(block) + ".init"))
      if (c.extent(loop) > 1) start.push_back(loop);
    unroll_tile(c, start, lanes);
  }
  schedule_epilogue(c, end[0], end[1], lanes);
  if (product->rows * product->columns * product->depth >= kFewestSharedProducts) c.parallel({tiles});
  return true;
}

}  // namespace dovetail::cpu
