// Register tiles: how many results one pass over a reduction holds in registers, and the steps that put them there.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/target/cpu/schedules/builder.h"

namespace dovetail::cpu {

// `rows` times `vectors` of `lanes` elements.
struct RegisterTile {
  std::int64_t rows, vectors, lanes;
  std::int64_t columns;  // of the tile; at most vectors * lanes
};
// Lanes of a vector along a dimension: a power of two that divides it where that is at least 4, else as many as there
// are.
std::int64_t vector_lanes(std::int64_t extent, int lanes);
// The tile that keeps the multipliers busiest: few loads per multiply-add, no idle lanes, no broken rows. `columns`
// become contiguous lanes.
RegisterTile choose_tile(std::int64_t rows, std::int64_t columns, int lanes, const Cpu& cpu);
// How many of `extent` neighbours a tile takes, `most` at most: few idle ones in the last tile, else as many as
// possible.
std::int64_t choose_rows(std::int64_t extent, std::int64_t most);

// The loops inside the tile, of the sums of block `main` and of their start in `main`.init: `rows` are written out, and
// `columns` become lanes. With `dot` the innermost loops of `main` are [vectors], lanes and bytes instead, which become
// dot products of bytes.
void schedule_sums(Builder& b, const std::string& main, const std::string& rows, const std::string& columns,
                   const RegisterTile& tile, bool dot);
// The same for what turns the tile into results.
void schedule_epilogue(Builder& b, const std::string& rows, const std::string& columns, std::int64_t lanes);

}  // namespace dovetail::cpu
