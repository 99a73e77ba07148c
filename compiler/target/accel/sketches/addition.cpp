// Additions: every byte moves once, whatever the tile; few transfers are the aim.
#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write_addition(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  const auto traffic = [](const Tile& tile, const Tile& trips, const Steps::Elements&) {
    const std::int64_t operands_and_result = 3;
    return Steps::Traffic{
        0, static_cast<double>(trips.n * trips.o * trips.y * trips.x * tile.n * tile.o * operands_and_result)};
  };
  if (!steps.sample_tile(kAddition, "", traffic)) return;
  steps.tile_output();
  steps.place_stages();
  steps.finish_stages("");
  steps.widen("a.", "A");
  steps.widen("b.", "B");
  steps.tensorize_stages("");
}

}  // namespace

const Kind kAddition{"addition", 2, write_addition};

}  // namespace dovetail::accel
