// Choice of tile extents: all candidates that fit the SRAMs, compared by the DRAM bytes they move plus a price per
// transfer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/target/accel/schedules.h"

namespace dovetail::accel {

struct TileNeeds {
  std::int64_t inp = 0, wgt = 0, acc = 0;  // elements on chip
  std::int64_t bytes = 0;                  // DRAM traffic of the whole operator
  std::int64_t transfers = 0;              // LOAD and STORE instructions, about
};
struct TileSpace {
  Tile whole;  // extents of the whole operator
  std::function<TileNeeds(const Tile&)> needs;
};
// Errors: nothing fits; names the buffer that is short of space, with both numbers.
Result<Tile> choose_tile(const std::string& name, const TileSpace& space, const isa::HardwareConfig& config);

// Whether the tile of extents 1 fits: no tile does otherwise.
Result<void> smallest_tile_fits(const std::string& name, const TileNeeds& least, const isa::HardwareConfig& config);

TileNeeds conv_needs(const ConvSpec& spec, const isa::HardwareConfig& config, const Tile& tile);
TileNeeds add_needs(const AddSpec& spec, const isa::HardwareConfig& config, const Tile& tile);
TileNeeds max_pool_needs(const MaxPoolSpec& spec, const isa::HardwareConfig& config, const Tile& tile);

}  // namespace dovetail::accel
