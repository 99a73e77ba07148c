// Convolutions, and matrix products as 1x1 convolutions, with the addition or the max-pooling after them: channel tiles
// of the reduction outermost, then the loops of GEMM and its micro-ops, the element innermost.
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

// The facts that determine the pace of any tile.
struct Convolution {
  explicit Convolution(const TileChoice& of)
      : choice(of),
        added(added_operand(of.c)),
        read(of.c.block("pad") ? "pad" : "X"),
        result(of.c.reads_of("out").front().buffer->name),
        taps(static_cast<double>(of.c.extent(of.convolutions.front() + ".ky") *
                                 of.c.extent(of.convolutions.front() + ".kx"))),
        stages(of.stage_cycles_by_shape()) {}

  const TileChoice& choice;
  const std::optional<WidenedOperand> added;
  const std::string read, result;
  const double taps;
  const std::vector<std::pair<std::string, double>> stages;

  double bytes(std::int64_t elements, isa::Memory memory) const {
    return static_cast<double>(elements * choice.config.element_bytes(memory));
  }
  // The number of tiles of input channels with different images: one for each group, or for several groups.
  std::int64_t images(const Tile& tile, const Tile& trips) const {
    return tile.o < choice.group_blocks() ? choice.groups : trips.o;
  }
  // If a whole reduction fits, an operand may stay on chip while tiles of the other are loaded: weights for all pixels,
  // or the pixels of a tile for all weights.
  bool inputs_may_stay(const Tile& tile, const Tile& trips) const {
    return trips.c == 1 && trips.o > images(tile, trips);
  }
};

Pace pace_with(const Convolution& of, bool inputs_stay, const Tile& tile, const Tile& trips,
               const TileChoice::Elements& elements) {
  const TileChoice& choice = of.choice;
  const Core& config = choice.config;
  const TileCosts& costs = choice.costs.costs();
  const std::int64_t pixels = trips.n * trips.y * trips.x, sums = trips.o * pixels * trips.c;
  const std::int64_t weight_loads = trips.c > 1 || inputs_stay ? sums : trips.o;
  const std::int64_t input_loads = inputs_stay ? pixels * of.images(tile, trips) : sums;
  const std::int64_t image_blocks = tile.c * std::max<std::int64_t>(1, tile.o / choice.group_blocks());
  const std::int64_t rows_of_weights = trips.c == 1 ? 1 : tile.o * choice.layout.block / config.block_out;
  const double inputs = choice.costs.streamed(of.bytes(elements(of.read, isa::Memory::inp), isa::Memory::inp),
                                              tile.n * image_blocks),
               weights = choice.weights_cycles(rows_of_weights, elements);
  double sums_of_tile = 0, passes = 0;
  for (const std::string& product : choice.convolutions)
    sums_of_tile += static_cast<double>(elements(product, isa::Memory::acc));
  for (const auto& [stage, cycles] : of.stages)
    passes += cycles * static_cast<double>(elements(stage, isa::Memory::acc));
  const double resets = config.overwrite ? 0 : sums_of_tile,
               constants = choice.constants_cycles(tile) / static_cast<double>(inputs_stay ? 1 : pixels);
  Pace pace;
  pace.inputs = {inputs, input_loads};
  pace.weights = {weights, weight_loads};
  pace.compute = sums_of_tile * static_cast<double>(tile.c * choice.layout.block / config.block_in) * of.taps;
  pace.finish = resets + passes + constants;
  // Loads of weights overlap with the layer before, if there is room for the weights of both layers. A first layer
  // exposes their whole time if it is about that of the products, which then always wait for weights.
  const double all_weights = weights * static_cast<double>(trips.o * trips.c),
               all_computes =
                   static_cast<double>(trips.o * pixels) * (static_cast<double>(trips.c) * pace.compute + pace.finish);
  const bool come_before =
      2 * elements(kWeights, isa::Memory::wgt) <= usable_depth(config, isa::Memory::wgt) &&
      (choice.c.task.intent.start == schedule::Start::after_others || all_weights < costs.many_weights * all_computes);
  pace.first_load = inputs + (come_before ? costs.first_weights_fraction * weights : weights);
  if (of.added) choice.add_operand(pace, *of.added, tile, elements);
  pace.store = choice.costs.stored(of.bytes(elements(of.result, isa::Memory::acc), isa::Memory::out),
                                   choice.transfers_of("Y", tile));
  return pace;
}

// With several tiles of pixels, the operand stays that saves more loads. With one tile, weights are loaded once either
// way, and loading inputs again overlaps with products and leaves a slot for the next operation's inputs. So inputs
// stay only if loading weights takes a large part of the products' time, and loading inputs again a large part of all
// loads.
bool inputs_should_stay(const Pace& inputs, const Pace& weights, const Tile& trips, const TileCosts& costs) {
  const auto loaded = [](const Pace& pace) {
    return pace.inputs.cycles * static_cast<double>(pace.inputs.times) +
           pace.weights.cycles * static_cast<double>(pace.weights.times);
  };
  if (trips.n * trips.y * trips.x > 1) return loaded(inputs) < loaded(weights);
  const double compute = static_cast<double>(trips.o) * (weights.compute + weights.finish);
  return weights.weights.cycles * static_cast<double>(trips.o) > costs.many_weights * compute &&
         loaded(weights) - loaded(inputs) > costs.many_inputs * loaded(weights);
}

bool decide_convolution(TileChoice& choice) {
  const Convolution of(choice);
  const auto pace = [&](const Tile& tile, const Tile& trips, const TileChoice::Elements& elements) {
    const Pace weights = pace_with(of, false, tile, trips, elements);
    if (!of.inputs_may_stay(tile, trips)) return weights;
    const Pace inputs = pace_with(of, true, tile, trips, elements);
    return inputs_should_stay(inputs, weights, trips, choice.costs.costs()) ? inputs : weights;
  };
  if (!choice.sample_tile(pace)) return false;
  const Tile trips = choice.trips(choice.tile);
  if (!of.inputs_may_stay(choice.tile, trips)) return true;
  const auto elements = [&](const std::string& buffer, isa::Memory memory) { return choice.elements(buffer, memory); };
  const bool analytic =
      inputs_should_stay(pace_with(of, true, choice.tile, trips, elements),
                         pace_with(of, false, choice.tile, trips, elements), trips, choice.costs.costs());
  choice.c.sample("stays", {"weights", "inputs"}, analytic ? "inputs" : "weights");
  return choice.c.s.status().ok();
}

// With a pooling there is a product for each place in its windows. These products read the same copies, so they share
// the loop over tiles of channels.
void write_convolution(Steps& steps) {
  schedule::Context& c = steps.c;
  const BlockSizes& sizes = steps.sizes;
  const std::vector<std::string>& products = steps.convolutions;
  const bool pads_in_load = c.block("pad") != nullptr, inputs_stay = steps.decided("stays") == "inputs";
  const std::optional<WidenedOperand> added = added_operand(c);
  const std::string image = pads_in_load ? "pad" : "X.inp";
  steps.tile_output(inputs_stay ? std::vector<std::string>{"n", "y", "x", "o"}
                                : std::vector<std::string>{"o", "n", "y", "x"});
  steps.place_stages();

  const std::int64_t block = steps.layout.block;
  for (const std::string& product : products) {
    const auto loop = [&](const char* name) { return product + "." + name; };
    c.s.split(loop("c"), steps.tile.c * block, loop("c_t"), loop("c_i"));
    steps.split_channels(loop("c_i"), block, sizes.block_in);
    if (steps.tile.o > steps.group_blocks()) c.split(loop("o"), steps.group_blocks() * block, loop("g"), loop("o"));
    steps.block_elements(product, loop("n"), loop("o"));
    c.reorder(
        c.present({loop("c_t"), loop("n"), loop("n_b"), loop("g"), loop("o_g"), loop("o_b"), loop("y"), loop("x"),
                   loop("c_i_g"), loop("c_i_b"), loop("ky"), loop("kx"), loop("n_e"), loop("o_e"), loop("c_i_e")}));
    c.s.decompose_reduction(product, loop("c_t"), product + ".init");
  }
  const std::string channel_tiles = products.front() + ".c_t";
  for (const std::string& product : products)
    if (product != products.front()) c.s.merge(channel_tiles, product + ".c_t", channel_tiles);

  // Operands.
  const std::string readers = fmt::format("{}", fmt::join(products, ","));
  if (pads_in_load) c.s.set_scope("pad", kInpScope);
  else c.s.cache_read(readers, "X", kInpScope, image);
  c.s.compute_at(image, inputs_stay ? "out.x_t" : channel_tiles);
  c.s.cache_read(readers, "W", kWgtScope, "W.wgt");
  c.s.compute_at("W.wgt", steps.tile.c == steps.whole.c ? "out.o_t" : channel_tiles);
  if (c.block("parameters")) c.s.compute_at("parameters", "out.o_t");
  steps.lay_out_product(image, 4);
  for (const std::string& product : products) c.s.transform_layout(product, steps.layout.index_map(sizes.block_out));
  steps.finish_stages("");
  if (added) steps.widen(*added);

  steps.tensorize_stages("");
  for (const std::string& product : products) {
    const std::string init = product + ".init";
    steps.tensorize(init, {init + "." + product + ".n_e", init + "." + product + ".o_e"});
    steps.tensorize(product, {product + ".n_e", product + ".o_e", product + ".c_i_e"});
  }
  std::vector<std::string> inputs{image}, weights{"W.wgt"};
  if (c.block("parameters")) weights.emplace_back("parameters");
  if (added && added->by_gemm) inputs.push_back(added->copy());
  steps.take_slots(std::move(inputs), std::move(weights));
}

}  // namespace

const Kind kConvolution{"convolution", 6, decide_convolution, write_convolution};

}  // namespace dovetail::accel
