// Copies through ACC of a block of channels, sums of several blocks, and operators that only need ALU passes.
#include <fmt/format.h>

#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

std::vector<WidenedOperand> terms_of(const schedule::Context& c) {
  std::vector<WidenedOperand> terms;
  for (int t = 0; c.buffer(fmt::format("X{}", t)); ++t)
    terms.push_back(widened_operand(c, fmt::format("x{}.", t), fmt::format("X{}", t)));
  return terms;
}

bool decide_move(TileChoice& choice) {
  const schedule::Context& c = choice.c;
  const std::vector<WidenedOperand> terms = terms_of(c);
  const double stages = choice.stage_cycles();
  const std::string result = c.reads_of("out").front().buffer->name;
  return choice.sample_tile([&](const Tile& tile, const Tile&, const TileChoice::Elements& elements) {
    const std::int64_t results = elements(result, isa::Memory::acc);
    Pace cycles;
    for (const WidenedOperand& term : terms) choice.add_operand(cycles, term, tile, elements);
    cycles.finish += stages * static_cast<double>(results) + choice.constants_cycles(tile);
    cycles.store = choice.costs.stored(static_cast<double>(results * choice.config.element_bytes(isa::Memory::out)),
                                       choice.transfers_of("Y", tile));
    return cycles;
  });
}

void write_move(Steps& steps) {
  const std::vector<WidenedOperand> terms = terms_of(steps.c);
  steps.tile_output();
  steps.place_stages();
  steps.finish_stages("");
  for (const WidenedOperand& term : terms) steps.widen(term);
  steps.tensorize_stages("");
  steps.take_slots(copies_of(terms), {});
}

}  // namespace

const Kind kMove{"move", 1, decide_move, write_move}, kLines{"piecewise_linear", 1, decide_move, write_move},
    kTable{"table", 1, decide_move, write_move};

}  // namespace dovetail::accel
