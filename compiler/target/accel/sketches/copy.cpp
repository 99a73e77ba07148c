// Copies through ACC, clamped there or not.
#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write_copy(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  const Steps::Operand image = steps.operand("", "X");
  const double stages = steps.stage_cycles();
  const auto pace = [&](const Tile& tile, const Tile& trips, const Steps::Elements& elements) {
    const std::int64_t results = elements("X", isa::Memory::acc);
    Steps::Pace cycles;
    steps.add_operand(cycles, image, 1, tile, elements);
    cycles.finish += stages * static_cast<double>(results);
    cycles.store = steps.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)), tile.n * tile.o);
    cycles.loads_inputs = image.by_gemm && trips.o * trips.n * trips.y * trips.x > 1;
    cycles.loads_weights = false;
    return cycles;
  };
  if (!steps.sample_tile(kCopy, "", pace)) return;
  steps.tile_output();
  steps.place_stages();
  steps.finish_stages("");
  steps.widen(image);
  steps.tensorize_stages("");
  steps.take_slots(kCopy, image.by_gemm ? std::vector{image.copy()} : std::vector<std::string>{}, "");
}

}  // namespace

const Kind kCopy{"copy", 1, write_copy};

}  // namespace dovetail::accel
