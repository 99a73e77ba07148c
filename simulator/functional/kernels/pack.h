// DRAM elements to the kernels' tiles and back (tile_layout.h). Called by LOAD and STORE; independent of the host's
// vectors except for the group depth.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/functional/kernels/tile_layout.h"

namespace dovetail::simulator {

// `count` INP elements, [batch][block_in] int8. `compensation`: batch words per element, written for groups of 4 only.
void pack_inp(const TileLayout& layout, const std::byte* dram, std::size_t count, std::uint32_t* tiles,
              std::int32_t* compensation);
// `count` WGT elements, [block_out][block_in] int8.
void pack_wgt(const TileLayout& layout, const std::byte* dram, std::size_t count, std::uint32_t* tiles);
// The same from int4.
void pack_wgt4(const TileLayout& layout, const std::byte* dram, std::size_t count, std::uint32_t* tiles);

// The reverse of both, for inspection of SRAM.
void unpack_inp(const TileLayout& layout, const std::uint32_t* tiles, std::size_t count, std::byte* dram);
void unpack_wgt(const TileLayout& layout, const std::uint32_t* tiles, std::size_t count, std::byte* dram);

// The word of a group of zero weights.
std::uint32_t zero_weights(const TileLayout& layout);

// `count` ACC elements of int32 lanes, or of int8 lanes to be sign-extended.
void unpack_acc(const TileLayout& layout, const std::byte* dram, std::size_t count, std::int32_t* acc);
void unpack_acc8(const TileLayout& layout, const std::byte* dram, std::size_t count, std::int32_t* acc);
// `count` ACC elements to OUT elements, [batch][block_out] int8.
void narrow_acc(const TileLayout& layout, const std::int32_t* acc, std::size_t count, bool saturate, std::byte* dram);

}  // namespace dovetail::simulator
