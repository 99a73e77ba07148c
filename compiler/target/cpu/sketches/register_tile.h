// Register tiles: how many results one pass over a reduction holds in registers, and the steps that put them there.
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
  std::int64_t columns;  // of the tile; at most vectors * lanes, and more than one vector less
};
// What tiles divide: rows (neighboring pixels) by columns (output channels) of sums, each of `steps` products of
// vectors. An element of the left operand is part of `reuse` neighboring rows. `whole`: the processor's instruction
// takes no vectors with idle lanes. `broken`: tiles are whole vectors that need not divide the columns.
struct TiledProduct {
  std::int64_t rows, columns, steps, reuse = 1;
  bool whole = false, broken = false;
};
// Lanes of a vector along a dimension: a power of two that divides it where that is at least 4, else as many as there
// are.
std::int64_t vector_lanes(std::int64_t extent, int lanes);
// Lanes of the vectors of a register tile's row: as vector_lanes, or all that there are where fewer are idle then,
// though some of the last vector are.
std::int64_t tile_lanes(std::int64_t columns, int lanes);
// So many columns, and the rest of the last vector.
std::int64_t whole_vectors(std::int64_t columns, const Cpu& cpu);
// Columns to compute where there are `columns` that tiles of whole vectors divide badly: more than a tile is wide, and
// no whole number of vectors.
std::int64_t tileable_columns(std::int64_t columns, const Cpu& cpu);
// Decides tile_columns, which become contiguous lanes, and tile_rows. The analytic choice takes the fewest cycles by
// the facts of the processor: products, loads, the latency of a sum, the operands that come from the second level, and
// what a tile costs beside its sums; for the broken tile at the end of a row as well. Tiles that are as wide as the
// matrix may have idle lanes in the last vector of a row.
// `beside`: cycles of what else depends on the columns of a tile.
using CyclesByColumns = std::function<double(std::int64_t columns)>;
RegisterTile sample_register_tile(schedule::Context& c, const TiledProduct& product, const Cpu& cpu,
                                  const CyclesByColumns& beside = {});
// What that choice takes for all of the product.
double least_cycles(const TiledProduct& product, const Cpu& cpu, const CyclesByColumns& beside = {});
// Decides how many of `extent` neighbors a tile takes, `most` at most: few idle ones in the last tile, else as many as
// possible. The analytic choice is at most `fitting`.
std::int64_t sample_rows(schedule::Context& c, std::int64_t extent, std::int64_t fitting, std::int64_t most);
// Decides how many steps of a reduction over `extent` are written out; one, says the analytic choice.
std::int64_t sample_steps(schedule::Context& c, std::int64_t extent);

// The loops inside the tile, of the sums of block `main` and of their start in `main`.init: `rows` are written out, and
// `columns` become lanes. With `dot` the innermost loops of `main` are [vectors], lanes and bytes instead, which become
// dot products of bytes.
void schedule_sums(schedule::Context& c, const std::string& main, const std::string& rows, const std::string& columns,
                   const RegisterTile& tile, bool dot);
// The same for what turns the tile into results.
void schedule_epilogue(schedule::Context& c, const std::string& rows, const std::string& columns, std::int64_t lanes);

}  // namespace dovetail::cpu
