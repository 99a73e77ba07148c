#include "compiler/target/cpu/sketches/tiles.h"

#include <algorithm>
#include <array>

namespace dovetail::cpu {

using namespace loops;

namespace {

// For one core, in cycles: a call streams the rows of A through the multipliers, with a minimum latency; a tile's sums
// go to memory and come back in vectors; two vector instructions, each with all lanes, multiply at a time, and our
// kernels reach four fifths of that. On an Emerald Rapids, tiles of weights were read from the second-level cache at
// about 25 bytes per cycle (ResNet-18's C11, docs/results/benchmarks.md).
constexpr double kFreshCall = 16, kStoreAndReload = 24, kDotsPerCycle = 1.6, kFetchedBytesPerCycle = 25;

}  // namespace

std::optional<std::pair<LoadExpr, LoadExpr>> byte_factors(const Block& block) {
  const auto* update = std::get_if<Store>(&block.body->node);
  const auto* sum = update ? std::get_if<Binary>(&update->targets[0].value->node) : nullptr;
  const auto* product = sum && sum->op == BinaryOp::add ? std::get_if<Binary>(&sum->b->node) : nullptr;
  if (product == nullptr || product->op != BinaryOp::mul) return std::nullopt;
  const auto bytes = [](const Expr& expr) -> const LoadExpr* {
    const auto* wide = std::get_if<Cast>(&expr->node);
    const auto* n = wide ? std::get_if<LoadExpr>(&wide->a->node) : nullptr;
    return n != nullptr && (n->buffer->dtype == DType::int8 || n->buffer->dtype == DType::uint8) ? n : nullptr;
  };
  const LoadExpr *x = bytes(product->a), *w = bytes(product->b);
  if (x == nullptr || w == nullptr || w->buffer->dtype != DType::int8) return std::nullopt;
  return std::pair(*x, *w);
}

EvenPieces even_pieces(std::int64_t extent, std::int64_t most) {
  const std::int64_t count = (extent + most - 1) / most;
  return {count, (extent + count - 1) / count};
}

bool worth_tiles(const TileShape& shape, const Cpu& cpu) {
  if (cpu.tile_registers == 0 || shape.rows < 2 || shape.quads < 2) return false;
  const auto rows = static_cast<double>(shape.rows), calls = static_cast<double>(shape.calls);
  const double tiles = calls * kFreshCall + kStoreAndReload;
  const double vectors = rows * static_cast<double>(shape.quads) * calls / kDotsPerCycle;
  return tiles < vectors;
}

TileBlock sample_tile_block(schedule::Context& c, std::int64_t down, std::int64_t across, std::int64_t columns,
                            const TileShape& tile, const Cpu& cpu) {
  const auto up_to = [&](std::int64_t extent) {
    std::vector<std::int64_t> all;
    for (std::int64_t tiles = 1; tiles <= std::min<std::int64_t>(extent, cpu.tile_registers - 2); ++tiles)
      all.push_back(tiles);
    return all;
  };
  const auto dividing = [&](std::int64_t extent) {
    std::vector<std::int64_t> all = up_to(extent);
    std::erase_if(all, [&](std::int64_t tiles) { return extent % tiles != 0; });
    return all;
  };
  const std::array<schedule::Choice, 3> choices{
      {{"tile_columns", [&](std::span<const std::int64_t>) { return dividing(columns); }},
       {"tile_across", [&](std::span<const std::int64_t>) { return dividing(across); }},
       {"tile_down", [&](std::span<const std::int64_t>) { return up_to(down); }}}};
  // Loads and products of one step, in calls; the part of tiles beyond the end is wasted.
  const schedule::Cost cost = [&](std::span<const std::int64_t> block) -> std::optional<double> {
    const std::int64_t rows = block[1] * block[2];
    if (rows * block[0] + rows + block[0] > cpu.tile_registers) return std::nullopt;
    const double useful = static_cast<double>(down) / static_cast<double>((down + block[2] - 1) / block[2] * block[2]);
    const double products = static_cast<double>(rows * block[0]) * kFreshCall;
    const double loads = static_cast<double>(rows + block[0]) * (kFreshCall / 2);
    // The weights of all steps are read again from the second-level cache for each block of rows, unless the first
    // level holds them.
    const std::int64_t step_bytes = block[0] * tile.quads * kTileRowBytes;
    const double fetched =
        step_bytes * tile.calls > cpu.l1_bytes / 2 ? static_cast<double>(step_bytes) / kFetchedBytesPerCycle : 0;
    return std::max(products + loads / 2, fetched) / (useful * static_cast<double>(rows * block[0])) -
           1e-3 * static_cast<double>(block[1]);
  };
  const std::vector<std::int64_t> block = c.sample(choices, [&] { return Result<schedule::Cost>(cost); });
  return block.empty() ? TileBlock{1, 1, 1} : TileBlock{block[2], block[1], block[0]};
}

std::pair<std::string, std::string> cut(schedule::Context& c, const std::string& loop, std::int64_t factor) {
  if (factor == 1) return {loop, ""};
  return c.tile(loop, factor);
}

void tensorize_tiles(schedule::Context& c, const TileNest& nest, const TileIntrinsic& tile) {
  std::vector<std::string> tiles = c.present(nest.tiles), order = tiles;
  const std::vector<std::string> inside = c.present(nest.inside);
  order.insert(order.end(), inside.begin(), inside.end());
  c.reorder(order);
  for (const std::string& loop : tiles) c.unroll(loop);
  if (!inside.empty()) c.s.tensorize(inside.front(), name(tile));
}

TileBlocks stage_tiles(schedule::Context& c, const std::string& main, const std::string& x, const std::string& w,
                       std::string& last) {
  TileBlocks blocks{main, main + ".left", main + ".right", main + ".sums"};
  const std::string result = c.written_by(main)->name;
  if (c.blocks().back() != main) last = c.gather_epilogue(main, "global");
  else last = blocks.store;
  c.s.cache_write(main, result, kTileScope, blocks.store);
  c.s.reindex(main, x, blocks.left);
  c.s.set_scope(blocks.left, kTileScope);
  c.s.cache_read(main, w, kTileScope, blocks.right);
  return blocks;
}

}  // namespace dovetail::cpu
