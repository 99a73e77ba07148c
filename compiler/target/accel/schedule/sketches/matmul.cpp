// Products of two activations: for each group, blocks of columns of the second operand stay on chip while rows of the
// first are loaded. Transpositions are also such products, with rows of the identity as the first operand, and so are
// arrangements, with a selection as the second.
#include <fmt/format.h>

#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

// Copies a constant operand, which stays on chip.
void keep(Steps& steps, const std::string& block, const std::string& constant, const char* scope,
          const std::string& map) {
  schedule::Context& c = steps.c;
  const std::string copy = constant + ".copy";
  c.s.cache_read(block, constant, scope, copy);
  c.split(copy + ".1", steps.sizes.block_in, copy + ".1_b", copy + ".1_e");
  c.lay_out(constant, map);
  c.s.transform_layout(copy, map);
}

// Whether the program transposes: its first operand is the identity.
bool transposes(const schedule::Context& c) { return c.buffer("IX") != nullptr; }

// Whether the program arranges: its second operand is a selection.
bool arranges(const schedule::Context& c) { return c.buffer("IR") != nullptr; }

bool decide_matmul(TileChoice& choice) {
  const schedule::Context& c = choice.c;
  const Core& config = choice.config;
  const bool by_identity = transposes(c), by_selection = arranges(c);
  const auto depth =
      static_cast<double>(c.extent("product.c") / config.block_in * (by_selection ? c.extent("product.part") : 1));
  const double passes = choice.stage_cycles() + (config.overwrite ? 0 : 1);
  const auto steps_of = [&](const std::string& sums, const TileChoice::Elements& elements) {
    return c.block(sums) ? static_cast<double>(elements(sums, isa::Memory::acc) * c.extent(sums + ".part")) * depth : 0;
  };
  const auto bytes = [&](std::int64_t elements, isa::Memory memory) {
    return static_cast<double>(elements * config.element_bytes(memory));
  };
  return choice.sample_tile([&](const Tile& tile, const Tile& trips, const TileChoice::Elements& elements) {
    const auto pixels = static_cast<double>(trips.n * trips.x);
    const std::int64_t results = elements("product", isa::Memory::acc);
    // Blocks of channels are rows of a transfer; groups may be farther apart.
    const std::int64_t transfers = by_identity ? 1 : tile.y;
    const double rows =
        by_identity ? 0
                    : choice.costs.streamed(bytes(elements("x.copy", isa::Memory::inp), isa::Memory::inp), transfers);
    const double columns =
        by_selection ? 0
                     : choice.costs.streamed(bytes(elements("w.copy", isa::Memory::wgt), isa::Memory::wgt), transfers);
    Pace cycles;
    cycles.inputs = {rows, by_identity ? 0 : trips.results()};
    cycles.weights = {columns, by_selection ? 0 : trips.o * trips.y};
    cycles.first_load = rows + columns;
    cycles.compute = static_cast<double>(results) * depth;
    cycles.finish = static_cast<double>(results) * passes + steps_of("rows.sums", elements) +
                    steps_of("columns.sums", elements) / pixels;
    cycles.store = choice.costs.stored(bytes(results, isa::Memory::out), transfers);
    return cycles;
  });
}

void write_matmul(Steps& steps) {
  schedule::Context& c = steps.c;
  const BlockSizes& sizes = steps.sizes;
  const bool by_identity = transposes(c), by_selection = arranges(c);
  std::vector<std::string> products{"product"};
  for (const char* sums : {"columns.sums", "rows.sums"})
    if (c.block(sums)) products.emplace_back(sums);
  steps.tile_output({"y", "o", "n", "x"});
  for (auto block = steps.blocks.rbegin(); block != steps.blocks.rend(); ++block) {
    if (*block == "out") continue;
    c.s.set_scope(*block, *block == "x.copy" ? kInpScope : *block == "w.copy" ? kWgtScope : kAccScope);
    if (is_constants(*block)) continue;
    c.s.compute_at(*block, *block == "w.copy" || *block == "columns.sums" ? "out.o_t" : "out.x_t");
  }
  for (const std::string& block : products) steps.make_product(block);

  // Operands.
  const std::string in_wgt = fmt::format("i2,i1/{1},i0/{0},i0%{0},i1%{1}", sizes.block_out, sizes.block_in),
                    of_parts = parts_index_map(sizes.block_in);
  if (by_identity) keep(steps, "product", "IX", kInpScope, of_parts);
  else steps.lay_out_in_inp("X", "x.copy", "x.copy.c", "x.copy.n");
  if (by_selection) {
    keep(steps, "product", "IR", kWgtScope, of_parts);
  } else {
    c.split("w.copy.o", sizes.block_out, "w.copy.o_b", "w.copy.o_e");
    c.split("w.copy.c", sizes.block_in, "w.copy.c_b", "w.copy.c_e");
    c.lay_out("W", fmt::format("i1/{1},i0/{0},i0%{0},i1%{1}", sizes.block_out, sizes.block_in));
    c.s.transform_layout("w.copy", in_wgt);
  }
  if (c.block("columns.sums")) keep(steps, "columns.sums", "IZ", kInpScope, of_parts);
  if (c.block("rows.sums")) keep(steps, "rows.sums", "IJ", kWgtScope, of_parts);

  steps.finish_stages("");
  steps.tensorize_stages("");
  for (const std::string& block : products) steps.tensorize_product(block);
  const auto slotted = [](bool constant, const char* copy) {
    return constant ? std::vector<std::string>{} : std::vector<std::string>{copy};
  };
  steps.take_slots(slotted(by_identity, "x.copy"), slotted(by_selection, "w.copy"));
}

}  // namespace

const Kind kMatMul{"matmul", 1, decide_matmul, write_matmul};

}  // namespace dovetail::accel
