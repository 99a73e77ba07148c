// Max pooling: a tile's part of the image is widened into ACC and reduced there: along columns and then along rows if
// the window is separable, else tap by tap.
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

bool decide_tap_by_tap(TileChoice& choice) {
  const schedule::Context& c = choice.c;
  const auto taps = static_cast<double>(c.extent("pool.ky") * c.extent("pool.kx"));
  const WidenedOperand image = widened_operand(c, "", "X");
  return choice.sample_tile([&](const Tile& tile, const Tile&, const TileChoice::Elements& elements) {
    const std::int64_t results = elements("pool", isa::Memory::acc);
    const double reads_both = 2;
    Pace cycles;
    choice.add_operand(cycles, image, tile, elements);
    cycles.finish += (1 + reads_both * taps) * static_cast<double>(results);
    cycles.store = choice.costs.stored(static_cast<double>(results * choice.config.element_bytes(isa::Memory::out)),
                                       choice.transfers_of("Y", tile));
    return cycles;
  });
}

void write_tap_by_tap(Steps& steps) {
  schedule::Context& c = steps.c;
  const WidenedOperand image = widened_operand(c, "", "X");
  steps.tile_output();
  steps.place_stages();

  steps.block_elements("pool", "pool.n", "pool.o");
  c.reorder(c.present({"pool.ky", "pool.kx", "pool.n", "pool.n_b", "pool.o_g", "pool.o_b", "pool.y", "pool.x",
                       "pool.n_e", "pool.o_e"}));
  c.s.decompose_reduction("pool", c.has_loop("pool.ky") ? "pool.ky" : "pool.kx", "pool.init");
  c.s.transform_layout("pool", steps.layout.index_map(steps.sizes.block_out));
  steps.finish_stages("pool");
  steps.widen(image);
  steps.tensorize_stages("pool");
  steps.tensorize("pool.init", {"pool.init.pool.n_e", "pool.init.pool.o_e"});
  steps.tensorize("pool", {"pool.n_e", "pool.o_e"});
  steps.take_slots(copies_of(std::vector{image}), {});
}

// Blocks of the separable form.
struct Separable {
  std::vector<std::string> widened, maxima;
};
Separable separable(const std::vector<std::string>& blocks) {
  Separable of;
  for (const std::string& block : blocks)
    if (block.ends_with("widen")) of.widened.push_back(block);
    else if (block != "out" && block != "x.copy") of.maxima.push_back(block);
  return of;
}

bool decide_separable(TileChoice& choice) {
  const Core& config = choice.config;
  const Separable of = separable(choice.blocks);
  const std::string result = choice.c.reads_of("out").front().buffer->name;
  return choice.sample_tile([&](const Tile& tile, const Tile& trips, const TileChoice::Elements& elements) {
    const double reads_both = 2;
    const std::int64_t steps_of_element = config.overwrite ? 1 : 2;
    Pace cycles;
    cycles.first_load = choice.costs.streamed(
        static_cast<double>(elements("x.copy", isa::Memory::inp) * config.element_bytes(isa::Memory::inp)),
        tile.n * tile.o);
    cycles.inputs = {cycles.first_load, trips.results()};
    for (const std::string& block : of.widened)
      cycles.finish += static_cast<double>(steps_of_element * elements(block, isa::Memory::acc));
    for (const std::string& block : of.maxima)
      cycles.finish += reads_both * static_cast<double>(elements(block, isa::Memory::acc));
    const std::int64_t results = elements(result, isa::Memory::acc);
    cycles.store = choice.costs.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)),
                                       choice.transfers_of("Y", tile));
    return cycles;
  });
}

void write_separable(Steps& steps) {
  schedule::Context& c = steps.c;
  const Separable of = separable(steps.blocks);
  steps.tile_output();
  steps.place_stages();
  steps.finish_stages("");
  for (const std::string& block : of.widened) steps.split_widening(block);
  c.s.set_scope("x.copy", kInpScope);
  c.s.compute_at("x.copy", "out.x_t");
  steps.lay_out_in_inp("X", "x.copy", "x.copy.c", "x.copy.n");
  for (const std::string& block : of.widened) steps.tensorize_widening(block);
  steps.tensorize_stages("");
  steps.take_slots({"x.copy"}, {});
}

bool decide_max_pooling(TileChoice& choice) {
  return choice.c.block("pool") ? decide_tap_by_tap(choice) : decide_separable(choice);
}

void write_max_pooling(Steps& steps) {
  if (steps.c.block("pool")) write_tap_by_tap(steps);
  else write_separable(steps);
}

}  // namespace

const Kind kMaxPooling{"max_pooling", 4, decide_max_pooling, write_max_pooling};

}  // namespace dovetail::accel
