#include "compiler/target/cpu/schedules/register_tile.h"

#include <algorithm>

namespace dovetail::cpu {

std::int64_t vector_lanes(std::int64_t extent, int lanes) {
  if (extent <= lanes) return extent;
  for (std::int64_t width = lanes; width >= 4; width /= 2)
    if (extent % width == 0) return width;
  return lanes;
}

RegisterTile choose_tile(std::int64_t rows, std::int64_t columns, int lanes, const Cpu& cpu) {
  // Some registers stay free for the weights' vectors and the broadcast element.
  const std::int64_t registers = cpu.vector_registers - 4;
  RegisterTile best{1, 1, std::min<std::int64_t>(lanes, columns), std::min<std::int64_t>(lanes, columns)};
  double best_score = 0;
  for (std::int64_t width = 1; width <= std::min<std::int64_t>(columns, 8 * lanes); ++width) {
    const std::int64_t used = vector_lanes(width, lanes);
    if (columns % width != 0 || width % used != 0) continue;
    const std::int64_t vectors = width / used;
    for (std::int64_t height = 1; height <= std::min(rows, registers / vectors); ++height) {
      const double filled = static_cast<double>(used) / lanes;
      const double whole = static_cast<double>(rows) / static_cast<double>((rows + height - 1) / height * height);
      const double products = static_cast<double>(height * vectors);
      const double loads = static_cast<double>(height + vectors);
      const double busy = products / std::max(products, 0.9 * loads) * std::min(1.0, products / 10);
      const double score = filled * whole * busy + 1e-3 * products / loads;
      if (score > best_score) {
        best_score = score;
        best = {height, vectors, used, width};
      }
    }
  }
  return best;
}

std::int64_t choose_rows(std::int64_t extent, std::int64_t most) {
  std::int64_t best = 1;
  double best_score = 0;
  for (std::int64_t rows = 1; rows <= std::min(extent, most); ++rows) {
    const double whole = static_cast<double>(extent) / static_cast<double>((extent + rows - 1) / rows * rows);
    const double score = whole * static_cast<double>(rows) / static_cast<double>(rows + 2);
    if (score > best_score) best_score = score, best = rows;
  }
  return best;
}

void schedule_sums(Builder& b, const std::string& main, const std::string& rows, const std::string& columns,
                   const RegisterTile& tile, bool dot) {
  b.unroll(rows);
  if (dot) {
    const std::vector<std::string> sum = b.loops_of(main);
    if (tile.vectors > 1) b.unroll(sum[sum.size() - 3]);
    b.s.tensorize(sum[sum.size() - 2], "x86.vpdpbusd");
  } else {
    b.unroll(b.vectorize(columns, tile.lanes));
  }
  const std::vector<std::string> start = b.own_loops(main + ".init");
  for (std::size_t i = 0; i + 1 < start.size(); ++i) b.unroll(start[i]);
  if (dot) {
    b.s.vectorize(start.back());
  } else {
    b.unroll(b.vectorize(start.back(), tile.lanes));
  }
}

void schedule_epilogue(Builder& b, const std::string& rows, const std::string& columns, std::int64_t lanes) {
  b.reorder({b.existing(rows), b.existing(columns)});
  b.unroll(rows);
  b.unroll(b.vectorize(columns, lanes));
}

}  // namespace dovetail::cpu
