// Max pooling: a tile's window of the image is widened into ACC, and reduced there tap by tap.
#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write_max_pooling(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  const auto traffic = [&](const Tile& tile, const Tile& trips, const Steps::Elements& elements) {
    const std::int64_t outer = trips.n * trips.o * trips.y * trips.x;
    return Steps::Traffic{
        static_cast<double>(outer * elements("X", isa::Memory::acc) * config.element_bytes(isa::Memory::acc8)),
        static_cast<double>(outer * tile.n * tile.o * 2)};
  };
  if (!steps.sample_tile(kMaxPooling, "", traffic)) return;
  steps.tile_output();
  steps.place_stages();

  steps.block_elements("pool", "pool.n", "pool.o");
  c.reorder(c.present({"pool.ky", "pool.kx", "pool.n", "pool.n_b", "pool.o_g", "pool.o_b", "pool.y", "pool.x",
                       "pool.n_e", "pool.o_e"}));
  c.s.decompose_reduction("pool", c.has_loop("pool.ky") ? "pool.ky" : "pool.kx", "pool.init");
  c.s.transform_layout("pool", steps.layout.index_map(config.block_out));
  steps.finish_stages("pool");
  steps.widen("", "X");
  steps.tensorize_stages("pool");
  steps.tensorize("pool.init", {"pool.init.pool.n_e", "pool.init.pool.o_e"});
  steps.tensorize("pool", {"pool.n_e", "pool.o_e"});
}

}  // namespace

const Kind kMaxPooling{"max_pooling", 2, write_max_pooling};

}  // namespace dovetail::accel
