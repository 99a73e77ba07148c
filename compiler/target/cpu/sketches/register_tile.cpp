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
  const std::int64_t places = (columns + lanes - 1) / lanes * lanes;  // the last ones are idle
  return columns % even != 0 || columns * lanes > even * places ? lanes : even;
}

namespace {

constexpr std::int64_t kWidestTile = 8;  // vectors
constexpr double kCyclesOfTile = 30;     // loop overhead, and waiting for the last sums

// Whether products of words are added by a separate instruction, whose latency is one cycle.
bool words_added(const TiledProduct& product, const Cpu& cpu) { return product.dot && !cpu.byte_dots; }

// Estimated cycles of one tile of `rows` rows by `vectors` vectors, over all steps of the product.
double tile_cycles(std::int64_t rows, std::int64_t vectors, const TiledProduct& product, const Cpu& cpu) {
  const auto as_double = [](std::int64_t value) { return static_cast<double>(value); };
  // The weights of all tiles of a column stay in the first-level cache if they fit; the other operand passes.
  const bool weights_stay = vectors * cpu.vector_bytes * product.steps <= cpu.l1_bytes / 2;
  const double fetched =
      (weights_stay ? 0.0 : as_double(vectors * cpu.vector_bytes)) + as_double(rows * 4) / as_double(product.reuse);
  const double step =
      std::max({as_double(rows * vectors) / cpu.products_per_cycle, as_double(rows + vectors) / cpu.loads_per_cycle,
                as_double(words_added(product, cpu) ? 1 : cpu.product_latency)});
  return as_double(product.steps) * (step + fetched / cpu.l2_bytes_per_cycle) + kCyclesOfTile;
}

constexpr double kNoRegisters = std::numeric_limits<double>::max();  // after all others

// The tiles that divide a product, and their costs.
class Tiles {
 public:
  Tiles(const TiledProduct& product, const Cpu& cpu) : product_(product), cpu_(cpu), lanes_(cpu.lanes(4)) {}

  std::vector<std::int64_t> widths() const {
    std::vector<std::int64_t> all;
    const std::int64_t most = kWidestTile * lanes_;
    if (product_.broken) {
      for (std::int64_t width = lanes_; width <= most; width += lanes_)
        if (width == lanes_ || width - lanes_ < product_.columns) all.push_back(width);
      return all;
    }
    for (std::int64_t width = 1; width <= std::min(product_.columns, most); ++width)
      if (suits(width)) all.push_back(width);
    return all;
  }

  std::vector<std::int64_t> heights(std::int64_t width) const {
    std::vector<std::int64_t> all;
    for (std::int64_t height = 1; height <= std::min(product_.rows, cpu_.vector_registers / vectors_of(width));
         ++height)
      all.push_back(height);
    return all;
  }

  // Cycles for all tiles of this height.
  double cycles(std::int64_t width, std::int64_t height) const {
    if (!fits(height, vectors_of(width))) return kNoRegisters;
    const std::int64_t rest = product_.columns % width;
    double columns = static_cast<double>(product_.columns / width) * cycles_of_column(vectors_of(width), height);
    if (rest != 0) columns += cycles_of_column((rest + lanes_ - 1) / lanes_, height);
    return columns;
  }

  RegisterTile tile(std::int64_t width, std::int64_t height) const {
    return {height, vectors_of(width), static_cast<std::int64_t>(lanes_of(width)), width};
  }

 private:
  std::int64_t lanes_of(std::int64_t width) const {
    return width == product_.columns && !product_.broken ? tile_lanes(width, lanes_) : vector_lanes(width, lanes_);
  }
  std::int64_t vectors_of(std::int64_t width) const { return (width + lanes_of(width) - 1) / lanes_of(width); }

  bool suits(std::int64_t width) const {
    if (product_.columns % width != 0) return false;
    return product_.dot ? width % lanes_ == 0 : width == product_.columns || width % lanes_of(width) == 0;
  }

  // The weight vectors, the broadcast element and a product that is not fused with its addition also need registers:
  // without them, a sum is in memory and a step takes twice as long. A search may leave fewer.
  bool fits(std::int64_t height, std::int64_t vectors) const {
    const bool fused = product_.dot ? cpu_.byte_dots : cpu_.fma();
    return height * vectors + vectors + (fused ? 1 : 2) <= cpu_.vector_registers;
  }

  double cycles_of_column(std::int64_t vectors, std::int64_t height) const {
    const std::int64_t rest = product_.rows % height;
    return static_cast<double>(product_.rows / height) * tile_cycles(height, vectors, product_, cpu_) +
           (rest == 0 ? 0.0 : tile_cycles(rest, vectors, product_, cpu_));
  }

  const TiledProduct& product_;
  const Cpu& cpu_;
  const int lanes_;
};

}  // namespace

std::int64_t whole_vectors(std::int64_t columns, const Cpu& cpu) {
  const std::int64_t lanes = cpu.lanes(4);
  return (columns + lanes - 1) / lanes * lanes;
}

std::int64_t tileable_columns(const TiledProduct& product, const Cpu& cpu) {
  constexpr double kClearly = 0.95;
  const std::int64_t lanes = cpu.lanes(4);
  if (product.columns <= kWidestTile * lanes) return product.columns;
  TiledProduct more = product;
  const auto cycles_of = [&](std::int64_t columns) { return more.columns = columns, least_cycles(more, cpu); };
  std::int64_t best = whole_vectors(product.columns, cpu);
  if (product.rows == 1) return best;  // as fast as memory
  double cycles = kClearly * cycles_of(best);
  for (std::int64_t width = 2 * lanes; width <= kWidestTile * lanes; width += lanes) {
    const std::int64_t columns = (product.columns + width - 1) / width * width;
    if (const double of = cycles_of(columns); of < cycles) best = columns, cycles = of;
  }
  return best;
}

RegisterTile sample_register_tile(schedule::Context& c, const TiledProduct& product, const Cpu& cpu,
                                  const CyclesByColumns& extra) {
  const Tiles tiles(product, cpu);
  const auto widths = [&](std::span<const std::int64_t>) { return tiles.widths(); };
  const auto heights = [&](std::span<const std::int64_t> width) { return tiles.heights(width[0]); };
  const schedule::Cost cost = [&](std::span<const std::int64_t> tile) {
    return std::optional(tiles.cycles(tile[0], tile[1]) + (extra ? extra(tile[0]) : 0.0));
  };
  const std::array<schedule::Choice, 2> choices{{{"tile_columns", widths}, {"tile_rows", heights}}};
  const std::vector<std::int64_t> tile = c.sample(choices, [&] { return Result<schedule::Cost>(cost); });
  if (tile.empty()) return {1, 1, 1, 1};
  return tiles.tile(tile[0], tile[1]);
}

double least_cycles(const TiledProduct& product, const Cpu& cpu, const CyclesByColumns& extra) {
  const Tiles tiles(product, cpu);
  double least = kNoRegisters;
  for (const std::int64_t width : tiles.widths())
    for (const std::int64_t height : tiles.heights(width))
      least = std::min(least, tiles.cycles(width, height) + (extra ? extra(width) : 0.0));
  return least;
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

std::int64_t sample_steps(schedule::Context& c, std::int64_t extent, std::int64_t most) {
  std::vector<std::int64_t> candidates;
  std::int64_t analytic = 1;
  for (const std::int64_t steps : {1, 2, 4, 8}) {
    if (extent % steps != 0) continue;
    candidates.push_back(steps);
    if (steps <= most) analytic = steps;
  }
  return candidates.size() == 1 ? 1 : c.sample("reduction_steps", candidates, analytic);
}

void schedule_sums(schedule::Context& c, const std::string& main, const std::string& rows, const std::string& columns,
                   const RegisterTile& tile, const Cpu& cpu, bool dot) {
  c.unroll(rows);
  if (dot) {
    const std::vector<std::string> sum = c.loops_of(main);
    if (tile.vectors > 1) c.unroll(sum[sum.size() - 3]);
    c.s.tensorize(sum[sum.size() - 2], dot_product_name(cpu));
  } else {
    c.unroll(c.vectorize(columns, tile.lanes));
  }
  const std::vector<std::string> start = c.own_loops(main + ".init");
  if (start.empty()) return;  // a tile with one result
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
