// Products of bytes in tile registers (AMX): how extents are cut, what they cost beside dot products of vectors, and
// the steps that both kinds of tiled products share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule/context.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/intrinsics.h"

namespace dovetail::cpu {

// The loads x and w of a block that adds int32(x) * int32(w) up, of bytes both, w signed. nullopt for another.
std::optional<std::pair<loops::LoadExpr, loops::LoadExpr>> byte_factors(const loops::Block& block);

// An extent in the fewest pieces of at most `most`, all of one size: together they may be a little more.
struct EvenPieces {
  std::int64_t count, size;
  std::int64_t extent() const { return count * size; }
};
EvenPieces even_pieces(std::int64_t extent, std::int64_t most);

// One tile of sums, `rows` times kTileLanes, is summed by `calls` calls over `quads` quadruples of bytes each.
struct TileShape {
  std::int64_t rows, quads, calls;
  DType bytes;  // of the activations
};
// Whether tiles are expected to beat dot products of vectors.
bool worth_tiles(const TileShape& shape, const Cpu& cpu);

// Products of fewer columns would leave most of a tile to zeros.
inline constexpr std::int64_t kFewestColumns = 4;

// Tiles of sums that are in registers at once: `across` neighbors by `down` times `columns`.
struct TileBlock {
  std::int64_t down, across, columns;
};
// Decides tile_columns and tile_across, which divide `columns` and `across`, the tiles that there are, and tile_down,
// of `down`, which need not. `tile`: one of them. The analytic choice loads the least for each product.
TileBlock sample_tile_block(schedule::Context& c, std::int64_t down, std::int64_t across, std::int64_t columns,
                            const TileShape& tile, const Cpu& cpu);

// {outer, inner}, either "" where it would have one iteration.
std::pair<std::string, std::string> cut(schedule::Context& c, const std::string& loop, std::int64_t factor);

// A nest that one instruction takes the place of: loops over tiles, which are written out, and then the tile's own.
struct TileNest {
  std::vector<std::string> tiles, inside;
};
void tensorize_tiles(schedule::Context& c, const TileNest& nest, const TileIntrinsic& tile);

// The blocks of a tiled product, once its loops are cut: sums in block `main` from copies `left` and `right` in tiles,
// which block `store` writes to memory.
struct TileBlocks {
  std::string main, left, right, store;
};
// Gathers what follows block `main`, keeps its sums in tiles, and copies its operands to tiles. `last` is the block
// behind the sums: `store` where nothing follows.
TileBlocks stage_tiles(schedule::Context& c, const std::string& main, const std::string& x, const std::string& w,
                       std::string& last);

}  // namespace dovetail::cpu
