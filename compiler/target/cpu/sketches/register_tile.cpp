#include "compiler/target/cpu/sketches/register_tile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/target/cpu/intrinsics.h"

namespace dovetail::cpu {

std::int64_t vector_lanes(std::int64_t extent, int lanes) {
  if (extent <= lanes) return extent;
  for (std::int64_t width = lanes; width >= 4; width /= 2)
    if (extent % width == 0) return width;
  return lanes;
}

std::int64_t tile_lanes(std::int64_t columns, int lanes) {
  const std::int64_t even = vector_lanes(columns, lanes);
  if (columns <= lanes || even == lanes) return even;
  const std::int64_t places = (columns + lanes - 1) / lanes * lanes;  // of which the last ones are idle
  return columns % even != 0 || columns * lanes > even * places ? lanes : even;
}

namespace {

constexpr std::int64_t kWidestTile = 8;  // vectors
constexpr double kCyclesOfTile = 30;     // its loops, and what waits for the last sums

// Cycles of a tile of `rows` times `vectors`.
double tile_cycles(std::int64_t rows, std::int64_t vectors, const TiledProduct& product, const Cpu& cpu) {
  const auto as_double = [](std::int64_t value) { return static_cast<double>(value); };
  // The weights of all tiles of a column stay in the first level where they fit; the other operand passes.
  const bool weights_stay = vectors * cpu.vector_bytes * product.steps <= cpu.l1_bytes / 2;
  const double fetched =
      (weights_stay ? 0.0 : as_double(vectors * cpu.vector_bytes)) + as_double(rows * 4) / as_double(product.reuse);
  const double step = std::max({as_double(rows * vectors) / cpu.products_per_cycle,
                                as_double(rows + vectors) / cpu.loads_per_cycle, as_double(cpu.product_latency)});
  return as_double(product.steps) * (step + fetched / cpu.l2_bytes_per_cycle) + kCyclesOfTile;
}

}  // namespace

std::int64_t whole_vectors(std::int64_t columns, const Cpu& cpu) {
  const std::int64_t lanes = cpu.lanes(4);
  return (columns + lanes - 1) / lanes * lanes;
}

std::int64_t tileable_columns(std::int64_t columns, const Cpu& cpu) {
  return columns <= kWidestTile * cpu.lanes(4) ? columns : whole_vectors(columns, cpu);
}

RegisterTile sample_register_tile(schedule::Context& c, const TiledProduct& product, const Cpu& cpu) {
  const int lanes = cpu.lanes(4);
  const std::int64_t columns = product.columns;
  // The weights' vectors, the broadcast element and a product that is not added at once need registers as well: where
  // they have none, a sum lives in memory and a step takes twice as long. A search may leave fewer.
  const auto fits = [&](std::int64_t height, std::int64_t vectors) {
    return height * vectors + vectors + (cpu.fma() ? 1 : 2) <= cpu.vector_registers;
  };
  const auto lanes_of = [&](std::int64_t width) {
    return width == columns ? tile_lanes(width, lanes) : vector_lanes(width, lanes);
  };
  const auto vectors_of = [&](std::int64_t width) { return (width + lanes_of(width) - 1) / lanes_of(width); };
  const auto suits = [&](std::int64_t width) {
    if (columns % width != 0) return false;
    return product.whole ? width % lanes == 0 : width == columns || width % lanes_of(width) == 0;
  };
  const auto widths = [&](std::span<const std::int64_t>) {
    std::vector<std::int64_t> all;
    for (std::int64_t width = 1; width <= std::min<std::int64_t>(columns, kWidestTile * lanes); ++width)
      if (suits(width)) all.push_back(width);
    return all;
  };
  const auto heights = [&](std::span<const std::int64_t> width) {
    std::vector<std::int64_t> all;
    const std::int64_t vectors = vectors_of(width[0]);
    for (std::int64_t height = 1; height <= std::min(product.rows, cpu.vector_registers / vectors); ++height)
      all.push_back(height);
    return all;
  };
  const schedule::Cost cost = [&](std::span<const std::int64_t> tile) {
    const std::int64_t vectors = vectors_of(tile[0]), height = tile[1], rest = product.rows % height;
    if (!fits(height, vectors)) return std::optional(std::numeric_limits<double>::max());  // behind all others
    const double row_of_tiles =
        static_cast<double>(product.rows / height) * tile_cycles(height, vectors, product, cpu) +
        (rest == 0 ? 0.0 : tile_cycles(rest, vectors, product, cpu));
    return std::optional(row_of_tiles * static_cast<double>(columns / tile[0]));
  };
  const std::array<schedule::Choice, 2> choices{{{"tile_columns", widths}, {"tile_rows", heights}}};
  const std::vector<std::int64_t> tile = c.sample(choices, [&] { return Result<schedule::Cost>(cost); });
  if (tile.empty()) return {1, 1, 1, 1};
  return {tile[1], vectors_of(tile[0]), static_cast<std::int64_t>(lanes_of(tile[0])), tile[0]};
}

std::int64_t sample_rows(schedule::Context& c, std::int64_t extent, std::int64_t fitting, std::int64_t most) {
  std::vector<std::int64_t> candidates;
  std::int64_t best = 1;
  double best_score = 0;
  for (std::int64_t rows = 1; rows <= std::min(extent, most); ++rows) {
    candidates.push_back(rows);
    const double whole = static_cast<double>(extent) / static_cast<double>((extent + rows - 1) / rows * rows);
    const double score = whole * static_cast<double>(rows) / static_cast<double>(rows + 2);
    if (rows <= fitting && score > best_score) best_score = score, best = rows;
  }
  return c.sample("tile_rows", candidates, best);
}

std::int64_t sample_steps(schedule::Context& c, std::int64_t extent) {
  std::vector<std::int64_t> candidates;
  for (const std::int64_t steps : {1, 2, 4, 8})
    if (extent % steps == 0) candidates.push_back(steps);
  return candidates.size() == 1 ? 1 : c.sample("reduction_steps", candidates, 1);
}

void schedule_sums(schedule::Context& c, const std::string& main, const std::string& rows, const std::string& columns,
                   const RegisterTile& tile, bool dot) {
  c.unroll(rows);
  if (dot) {
    const std::vector<std::string> sum = c.loops_of(main);
    if (tile.vectors > 1) c.unroll(sum[sum.size() - 3]);
    c.s.tensorize(sum[sum.size() - 2], dot_product_name(tile.lanes));
  } else {
    c.unroll(c.vectorize(columns, tile.lanes));
  }
  const std::vector<std::string> start = c.own_loops(main + ".init");
  if (start.empty()) return;  // a tile of one result
  for (std::size_t i = 0; i + 1 < start.size(); ++i) c.unroll(start[i]);
  if (dot) {
    c.s.vectorize(start.back());
  } else {
    c.unroll(c.vectorize(start.back(), tile.lanes));
  }
}

void schedule_epilogue(schedule::Context& c, const std::string& rows, const std::string& columns, std::int64_t lanes) {
  c.reorder({c.existing(rows), c.existing(columns)});
  c.unroll(rows);
  c.unroll(c.vectorize(columns, lanes));
}

}  // namespace dovetail::cpu
