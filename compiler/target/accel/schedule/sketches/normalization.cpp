// Softmax and normalizations: whole rows of a tile's pixels are widened into ACC, reduced there, and scaled.
#include "compiler/target/accel/programs/normalization.h"

#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

std::vector<WidenedOperand> operands_of_rows(const schedule::Context& c) {
  std::vector<WidenedOperand> operands{widened_operand(c, "x.", "X")};
  if (c.buffer("M")) operands.push_back(widened_operand(c, "m.", "M"));
  return operands;
}

// The steps of a stage are those of its largest operand. A step reads the result and an operand of that size in a cycle
// each; an operand of the row, or a constant, is the same in most consecutive steps.
double cycles_of_row_stage(const TileChoice& choice, const std::string& block, const TileChoice::Elements& elements) {
  const auto count = [&](const std::string& buffer) { return elements(buffer, isa::Memory::acc); };
  const std::string result = choice.c.written_by(block)->name;
  std::int64_t steps = count(result), operands = 0;
  for (const loops::Region& region : choice.c.reads_of(block)) {
    const std::string& name = region.buffer->name;
    if (is_constants(name) || is_table(name) || name == result) continue;
    steps = std::max(steps, count(name));
  }
  for (const loops::Region& region : choice.c.reads_of(block))
    if (const std::string& name = region.buffer->name; !is_constants(name) && !is_table(name))
      operands += count(name) == steps ? 1 : 0;
  const bool reduces = choice.c.block(block)->init != nullptr;
  return static_cast<double>(steps * ((reduces || operands > 1 ? 2 : 1) + serial_cycles(block) * choice.config.batch));
}

bool decide_rows(TileChoice& choice) {
  const std::vector<WidenedOperand> operands = operands_of_rows(choice.c);
  const std::string result = choice.c.reads_of("out").front().buffer->name;
  return choice.sample_tile([&](const Tile& tile, const Tile&, const TileChoice::Elements& elements) {
    Pace cycles;
    for (const WidenedOperand& operand : operands) choice.add_operand(cycles, operand, tile, elements);
    for (const std::string& block : choice.blocks)
      if (!is_transfer(block) && !is_product(block)) cycles.finish += cycles_of_row_stage(choice, block, elements);
    cycles.finish += choice.constants_cycles(tile);
    const std::int64_t results = elements(result, isa::Memory::acc);
    cycles.store = choice.costs.stored(static_cast<double>(results * choice.config.element_bytes(isa::Memory::out)),
                                       choice.transfers_of("Y", tile));
    return cycles;
  });
}

void write_rows(Steps& steps) {
  const std::vector<WidenedOperand> operands = operands_of_rows(steps.c);
  steps.tile_output();
  steps.place_stages();
  steps.finish_stages("");
  for (const WidenedOperand& operand : operands) steps.widen(operand);
  steps.tensorize_stages("");
  steps.take_slots(copies_of(operands), {});
}

}  // namespace

const Kind kSoftmax{"softmax", 1, decide_rows, write_rows}, kNormalization{"normalization", 1, decide_rows, write_rows};

}  // namespace dovetail::accel
