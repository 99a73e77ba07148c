// Depthwise convolutions by WINDOW, with the addition after them: tiles of the image, whose loops become stripes of
// rows when they are lowered. Weights and parameters, an element each for a block of channels, have slots as inputs
// have: tiles of the same channels and those of others then share micro-ops.
#include <algorithm>
#include <optional>

#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"

namespace dovetail::accel {

namespace {

constexpr const char* kProduct = "taps";

// Along one axis: the extent of the kernel, and the stride.
struct Along {
  std::int64_t kernel = 1, stride = 1;
  std::int64_t pixels(std::int64_t results) const { return (results - 1) * stride + kernel; }
};

// How the program's results read their image.
struct Stripes {
  explicit Stripes(const schedule::Context& c) {
    const loops::Block& block = *c.block(kProduct);
    loops::visit_exprs(block.body, [&](const loops::Expr& expr) {
      const auto* load = std::get_if<loops::LoadExpr>(&expr->node);
      if (load == nullptr || load->buffer->dtype != DType::int8) return;
      const auto coefficient = [&](std::size_t index, std::size_t iterator) {
        const auto form = loops::affine(load->indices[index], {});
        const auto found = form->coefficients.find(block.iterators[iterator].var.get());
        return found == form->coefficients.end() ? std::int64_t{1} : found->second;
      };
      if (load->buffer->name == "W") pushes = coefficient(1, 5);
      else rows.stride = coefficient(2, 2), columns.stride = coefficient(3, 3);
    });
    rows.kernel = c.extent("taps.ky");
    columns.kernel = c.extent("taps.kx");
  }

  // Steps of a block of channels of one image.
  std::int64_t steps(const Tile& tile) const {
    if (columns.kernel == 1) return tile.x * rows.pixels(tile.y);
    const std::int64_t of_stripe = (pushes - rows.kernel) / rows.stride + 1;
    return (tile.y + of_stripe - 1) / of_stripe * pushes * columns.pixels(tile.x);
  }

  // Micro-ops of a block of channels.
  std::int64_t uops(const Tile& tile) const {
    if (columns.kernel == 1) return rows.pixels(tile.y);
    const std::int64_t of_stripe = (pushes - rows.kernel) / rows.stride + 1,
                       kernels = tile.y < of_stripe || tile.y % of_stripe == 0 ? 1 : 2;
    return kernels * pushes * columns.pixels(tile.x);
  }

  std::int64_t pushes = 1;
  Along rows, columns;
};

bool decide_window(TileChoice& choice) {
  const schedule::Context& c = choice.c;
  const Core& config = choice.config;
  const std::optional<WidenedOperand> added = added_operand(c);
  const Stripes stripes(c);
  const std::string read = c.block("pad") ? "pad" : "X";
  return choice.sample_tile([&](const Tile& tile, const Tile& trips, const TileChoice::Elements& elements) {
    const auto bytes = [&](const std::string& buffer, isa::Memory memory) {
      return static_cast<double>(elements(buffer, memory) * config.element_bytes(memory));
    };
    const auto results = static_cast<double>(elements(kProduct, isa::Memory::acc));
    const double inputs = choice.costs.streamed(bytes(read, isa::Memory::inp), tile.n * tile.o),
                 weights = choice.weights_cycles(1, elements);
    Pace pace;
    pace.inputs = {inputs, trips.results()};
    pace.weights = {weights, trips.o};
    pace.compute = static_cast<double>(stripes.steps(tile) * tile.n * tile.o * choice.layout.batch / config.batch);
    pace.finish = (choice.stage_cycles() + (config.overwrite ? 0 : 1)) * results + choice.constants_cycles(tile);
    pace.first_load = inputs + choice.costs.costs().first_weights_fraction * weights;
    pace.micro_ops = static_cast<double>(stripes.uops(tile) * (c.block("epilogue") ? tile.o : 1));
    if (added) choice.add_operand(pace, *added, tile, elements);
    pace.store = choice.costs.stored(results * static_cast<double>(config.element_bytes(isa::Memory::out)),
                                     choice.transfers_of("Y", tile));
    return pace;
  });
}

void write_window(Steps& steps) {
  schedule::Context& c = steps.c;
  const BlockSizes& sizes = steps.sizes;
  const bool pads_in_load = c.block("pad") != nullptr;
  const std::optional<WidenedOperand> added = added_operand(c);
  const std::string image = pads_in_load ? "pad" : "X.inp";
  steps.tile_output({"o", "n", "y", "x"});
  steps.place_stages();

  steps.block_elements(kProduct, "taps.n", "taps.o");
  c.reorder(c.present({"taps.ky", "taps.kx", "taps.n", "taps.n_b", "taps.o_g", "taps.o_b", "taps.y", "taps.x",
                       "taps.n_e", "taps.o_e"}));
  c.s.decompose_reduction(kProduct, c.has_loop("taps.ky") ? "taps.ky" : "taps.kx", "taps.init");

  if (pads_in_load) c.s.set_scope("pad", kInpScope);
  else c.s.cache_read(kProduct, "X", kInpScope, image);
  c.s.compute_at(image, "out.x_t");
  c.s.cache_read(kProduct, "W", kWgtScope, "W.wgt");
  c.s.compute_at("W.wgt", "out.o_t");
  if (c.block("parameters")) c.s.compute_at("parameters", "out.o_t");
  steps.lay_out_product(image, 2);
  c.s.transform_layout(kProduct, steps.layout.index_map(sizes.block_out));
  steps.finish_stages(kProduct);
  if (added) steps.widen(*added);

  steps.tensorize_stages(kProduct);
  steps.tensorize("taps.init", {"taps.init.taps.n_e", "taps.init.taps.o_e"});
  steps.tensorize(kProduct, {"taps.n_e", "taps.o_e"});
  std::vector<std::string> inputs{image}, weights{"W.wgt"};
  if (c.block("parameters")) weights.emplace_back("parameters");
  if (added && added->by_gemm) inputs.push_back(added->copy());
  steps.take_slots(std::move(inputs), std::move(weights));
}

}  // namespace

const Kind kWindow{"window", 1, decide_window, write_window};

}  // namespace dovetail::accel
