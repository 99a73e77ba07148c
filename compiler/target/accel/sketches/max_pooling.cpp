// Max pooling: a tile's window of the image is widened into ACC, and reduced there tap by tap.
#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write_max_pooling(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  const auto taps = static_cast<double>(c.extent("pool.ky") * c.extent("pool.kx"));
  const Steps::Operand image = steps.operand("", "X");
  const auto pace = [&](const Tile& tile, const Tile& trips, const Steps::Elements& elements) {
    const std::int64_t results = elements("pool", isa::Memory::acc);
    const double reads_both = 2;
    Steps::Pace cycles;
    steps.add_operand(cycles, image, 1, tile, elements);
    cycles.finish += (1 + reads_both * taps) * static_cast<double>(results);
    cycles.store = steps.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)), tile.n * tile.o);
    cycles.loads_inputs = image.by_gemm && trips.o * trips.n * trips.y * trips.x > 1;
    cycles.loads_weights = false;
    return cycles;
  };
  if (!steps.sample_tile(kMaxPooling, "", pace)) return;
  steps.recall([&] {
    steps.tile_output();
    steps.place_stages();

    steps.block_elements("pool", "pool.n", "pool.o");
    c.reorder(c.present({"pool.ky", "pool.kx", "pool.n", "pool.n_b", "pool.o_g", "pool.o_b", "pool.y", "pool.x",
                         "pool.n_e", "pool.o_e"}));
    c.s.decompose_reduction("pool", c.has_loop("pool.ky") ? "pool.ky" : "pool.kx", "pool.init");
    c.s.transform_layout("pool", steps.layout.index_map(config.block_out));
    steps.finish_stages("pool");
    steps.widen(image);
    steps.tensorize_stages("pool");
    steps.tensorize("pool.init", {"pool.init.pool.n_e", "pool.init.pool.o_e"});
    steps.tensorize("pool", {"pool.n_e", "pool.o_e"});
  });
  steps.take_slots(kMaxPooling, image.by_gemm ? std::vector{image.copy()} : std::vector<std::string>{}, "");
}

}  // namespace

const Kind kMaxPooling{"max_pooling", 3, write_max_pooling};

}  // namespace dovetail::accel
