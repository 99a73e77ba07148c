// Additions and products: both operands are widened, scaled and combined in ACC, or multiplied as they are widened; or
// one operand, to which a constant per channel is added.
#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

std::vector<WidenedOperand> operands_of(const schedule::Context& c) {
  std::vector<WidenedOperand> operands{widened_operand(c, "a.", "A")};
  if (c.buffer("B")) operands.push_back(widened_operand(c, "b.", "B"));
  return operands;
}

bool decide_addition(TileChoice& choice) {
  const std::vector<WidenedOperand> operands = operands_of(choice.c);
  const double stages = choice.stage_cycles();
  return choice.sample_tile([&](const Tile& tile, const Tile&, const TileChoice::Elements& elements) {
    const std::int64_t results = elements("A", isa::Memory::acc);
    Pace cycles;
    for (const WidenedOperand& operand : operands) choice.add_operand(cycles, operand, tile, elements);
    cycles.finish += stages * static_cast<double>(results);
    cycles.store = choice.costs.stored(static_cast<double>(results * choice.config.element_bytes(isa::Memory::out)),
                                       choice.transfers_of("Y", tile));
    return cycles;
  });
}

void write_addition(Steps& steps) {
  const std::vector<WidenedOperand> operands = operands_of(steps.c);
  steps.tile_output();
  steps.place_stages();
  if (steps.c.block("parameters") && operands.size() == 1) steps.c.s.compute_at("parameters", "out.o_t");
  steps.finish_stages("");
  for (const WidenedOperand& operand : operands) steps.widen(operand);
  steps.tensorize_stages("");
  steps.take_slots(copies_of(operands), {});
}

}  // namespace

const Kind kAddition{"addition", 3, decide_addition, write_addition};

}  // namespace dovetail::accel
