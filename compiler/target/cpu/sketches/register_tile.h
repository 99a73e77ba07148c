// Register tiles: how many results a pass over a reduction keeps in registers, and the schedule steps that do so.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/schedule/context.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

// `rows` times `vectors` of `lanes` elements.
struct RegisterTile {
  std::int64_t rows, vectors, lanes;
  std::int64_t columns;  // columns of the tile; the last vector may be partial
};
// The product that is tiled: rows (neighboring pixels) by columns (output channels) of sums, each of `steps` products
// of vectors. An element of the left operand is shared by `reuse` neighboring rows. `dot`: each is a
// dot product (intrinsics.h), whose instruction does not support vectors with idle lanes. `broken`: tiles are whole
// vectors that need not divide the columns.
struct TiledProduct {
  std::int64_t rows, columns, steps, reuse = 1;
  bool dot = false, broken = false;
};
// Lanes of a vector along a dimension: a power of two that divides the extent if that is at least 4, else the full
// number of lanes.
std::int64_t vector_lanes(std::int64_t extent, int lanes);
// Lanes of the vectors in a row of a register tile: as vector_lanes, or the full number if that leaves fewer lanes
// idle, although the last vector is partial.
std::int64_t tile_lanes(std::int64_t columns, int lanes);
// The columns rounded up to whole vectors.
std::int64_t whole_vectors(std::int64_t columns, const Cpu& cpu);
// Number of columns to compute instead of those of the product if they are more than the widest tile: whole vectors, or
// clearly faster a multiple of wider tiles.
std::int64_t tileable_columns(const TiledProduct& product, const Cpu& cpu);
// Decides tile_columns, which become contiguous lanes, and tile_rows. The analytic choice minimizes the cycles
// predicted from the processor's facts: products, loads, the latency of a sum, operands from the second-level cache,
// and the overhead of a tile; including the partial tile at the end of a row. Tiles as wide as the matrix may have idle
// lanes in the last vector of a row.
// `extra`: additional cycles that depend on the columns of a tile.
using CyclesByColumns = std::function<double(std::int64_t columns)>;
RegisterTile sample_register_tile(schedule::Context& c, const TiledProduct& product, const Cpu& cpu,
                                  const CyclesByColumns& extra = {});
// The predicted cycles of that choice for the whole product.
double least_cycles(const TiledProduct& product, const Cpu& cpu, const CyclesByColumns& extra = {});
// Decides how many of `extent` neighbors a tile covers, at most `most`: with few idle ones in the last tile, else as
// many as possible. The analytic choice is at most `fitting`.
std::int64_t sample_rows(schedule::Context& c, std::int64_t extent, std::int64_t fitting, std::int64_t most);
// Decides how many steps of a reduction over `extent` are unrolled; the analytic choice is at most `most`.
std::int64_t sample_steps(schedule::Context& c, std::int64_t extent, std::int64_t most = 1);

// Schedules the loops inside the tile, for the sums of block `main` and their initialization in `main`.init: `rows` are
// unrolled, and `columns` become lanes. With `dot`, the innermost loops of `main` are [vectors], lanes and bytes
// instead, which become dot products.
void schedule_sums(schedule::Context& c, const std::string& main, const std::string& rows, const std::string& columns,
                   const RegisterTile& tile, const Cpu& cpu, bool dot);
// The same for the code that turns the tile into results.
void schedule_epilogue(schedule::Context& c, const std::string& rows, const std::string& columns, std::int64_t lanes);

}  // namespace dovetail::cpu
