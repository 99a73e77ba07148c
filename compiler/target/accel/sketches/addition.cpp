// Additions: the operands are widened, scaled and added in ACC; or one, to which a constant of each channel is added.
#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write_addition(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  std::vector<Steps::Operand> operands{steps.operand("a.", "A")};
  if (c.buffer("B")) operands.push_back(steps.operand("b.", "B"));
  const bool by_gemm = operands.front().by_gemm;
  const double stages = steps.stage_cycles();
  const auto pace = [&](const Tile& tile, const Tile&, const Steps::Elements& elements) {
    const std::int64_t results = elements("A", isa::Memory::acc);
    Steps::Pace cycles;
    for (const Steps::Operand& operand : operands) steps.add_operand(cycles, operand, tile, elements);
    cycles.finish += stages * static_cast<double>(results);
    cycles.store = steps.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)),
                                steps.transfers_of("Y", tile));
    return cycles;
  };
  if (!steps.sample_tile(kAddition, pace)) return;
  steps.recall([&] {
    steps.tile_output();
    steps.place_stages();
    steps.finish_stages("");
    for (const Steps::Operand& operand : operands) steps.widen(operand);
    steps.tensorize_stages("");
  });
  std::vector<std::string> copies;
  for (const Steps::Operand& operand : operands)
    if (by_gemm) copies.push_back(operand.copy());
  steps.take_slots(kAddition, copies, "");
}

}  // namespace

const Kind kAddition{"addition", 3, write_addition};

}  // namespace dovetail::accel
