// Byte products in tile registers (AMX): how extents are split, the cost compared with dot products of vectors, and the
// schedule steps shared by both kinds of tiled products.
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

// The loads x and w of a block that sums int32(x) * int32(w), both bytes, w signed. nullopt for other blocks.
std::optional<std::pair<loops::LoadExpr, loops::LoadExpr>> byte_factors(const loops::Block& block);

// An extent in the fewest equal pieces of at most `most`: their sum may be slightly larger.
struct EvenPieces {
  std::int64_t count, size;
  std::int64_t extent() const { return count * size; }
};
EvenPieces even_pieces(std::int64_t extent, std::int64_t most);

// A tile of sums, `rows` times kTileLanes, is computed by `calls` calls over `quads` quadruples of bytes each.
struct TileShape {
  std::int64_t rows, quads, calls;
  DType bytes;  // type of the activations
};
// Whether tiles are expected to be faster than dot products of vectors.
bool worth_tiles(const TileShape& shape, const Cpu& cpu);

// With fewer columns, most of a tile would be zeros.
inline constexpr std::int64_t kFewestColumns = 4;

// Tiles of sums that are in registers at once: `across` neighbors by `down` times `columns`.
struct TileBlock {
  std::int64_t down, across, columns;
};
// Decides tile_columns and tile_across, which divide the numbers of tiles `columns` and `across`, and tile_down, which
// need not divide `down`. `tile`: the shape of a tile. The analytic choice minimizes loads per product.
TileBlock sample_tile_block(schedule::Context& c, std::int64_t down, std::int64_t across, std::int64_t columns,
                            const TileShape& tile, const Cpu& cpu);

// {outer, inner}, either "" if it would have one iteration.
std::pair<std::string, std::string> cut(schedule::Context& c, const std::string& loop, std::int64_t factor);

// A nest that becomes one instruction: unrolled loops over tiles, then the tile's own loops.
struct TileNest {
  std::vector<std::string> tiles, inside;
};
void tensorize_tiles(schedule::Context& c, const TileNest& nest, const TileIntrinsic& tile);

// The blocks of a tiled product after its loops are split: sums in block `main` from copies `left` and `right` in
// tiles, written to memory by block `store`.
struct TileBlocks {
  std::string main, left, right, store;
};
// Collects the blocks after block `main`, keeps its sums in tiles, and copies its operands to tiles. `last` is the
// block after the sums: `store` if nothing follows.
TileBlocks stage_tiles(schedule::Context& c, const std::string& main, const std::string& x, const std::string& w,
                       std::string& last);

}  // namespace dovetail::cpu
