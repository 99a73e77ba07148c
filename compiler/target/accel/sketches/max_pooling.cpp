// Max pooling: a tile's window of the image is widened into ACC, and reduced there, along columns and then along rows
// where the window is separable, else tap by tap.
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write_tap_by_tap(Steps& steps) {
  schedule::Context& c = steps.c;
  const isa::HardwareConfig& config = steps.config;
  const auto taps = static_cast<double>(c.extent("pool.ky") * c.extent("pool.kx"));
  const Steps::Operand image = steps.operand("", "X");
  const auto pace = [&](const Tile& tile, const Tile&, const Steps::Elements& elements) {
    const std::int64_t results = elements("pool", isa::Memory::acc);
    const double reads_both = 2;
    Steps::Pace cycles;
    steps.add_operand(cycles, image, tile, elements);
    cycles.finish += (1 + reads_both * taps) * static_cast<double>(results);
    cycles.store = steps.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)),
                                steps.transfers_of("Y", tile));
    return cycles;
  };
  if (!steps.sample_tile(kMaxPooling, pace)) return;
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

void write_separable(Steps& steps) {
  schedule::Context& c = steps.c;
  const isa::HardwareConfig& config = steps.config;
  std::vector<std::string> widened, maxima;  // blocks
  for (const std::string& block : steps.blocks)
    if (block.ends_with("widen")) widened.push_back(block);
    else if (block != "out" && block != "x.copy") maxima.push_back(block);
  const std::string result = c.reads_of("out").front().buffer->name;
  const auto pace = [&](const Tile& tile, const Tile& trips, const Steps::Elements& elements) {
    const double reads_both = 2;
    const std::int64_t steps_of_element = config.overwrite ? 1 : 2;
    Steps::Pace cycles;
    cycles.first_load = steps.streamed(
        static_cast<double>(elements("x.copy", isa::Memory::inp) * config.element_bytes(isa::Memory::inp)),
        tile.n * tile.o);
    cycles.inputs = {cycles.first_load, trips.results()};
    for (const std::string& block : widened)
      cycles.finish += static_cast<double>(steps_of_element * elements(block, isa::Memory::acc));
    for (const std::string& block : maxima)
      cycles.finish += reads_both * static_cast<double>(elements(block, isa::Memory::acc));
    const std::int64_t results = elements(result, isa::Memory::acc);
    cycles.store = steps.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)),
                                steps.transfers_of("Y", tile));
    return cycles;
  };
  if (!steps.sample_tile(kMaxPooling, pace)) return;
  steps.recall([&] {
    steps.tile_output();
    steps.place_stages();
    steps.finish_stages("");
    for (const std::string& block : widened) steps.split_widening(block);
    c.s.set_scope("x.copy", kInpScope);
    c.s.compute_at("x.copy", "out.x_t");
    steps.lay_out_in_inp("X", "x.copy", "x.copy.c", "x.copy.n");
    for (const std::string& block : widened) steps.tensorize_widening(block);
    steps.tensorize_stages("");
  });
  steps.take_slots(kMaxPooling, {"x.copy"}, "");
}

void write_max_pooling(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  if (c.block("pool")) write_tap_by_tap(steps);
  else write_separable(steps);
}

}  // namespace

const Kind kMaxPooling{"max_pooling", 4, write_max_pooling};

}  // namespace dovetail::accel
