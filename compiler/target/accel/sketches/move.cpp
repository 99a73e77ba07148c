// Copies through ACC, of one block of channels or sums of several, and what ALU passes alone make of them.
#include <fmt/format.h>

#include "compiler/target/accel/sketches/steps.h"

namespace dovetail::accel {

namespace {

void write(const Kind& kind, schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  Steps steps(c, config, models);
  std::vector<Steps::Operand> terms;
  for (int t = 0; c.buffer(fmt::format("X{}", t)); ++t)
    terms.push_back(steps.operand(fmt::format("x{}.", t), fmt::format("X{}", t)));
  std::vector<std::string> copies;
  for (const Steps::Operand& term : terms)
    if (term.by_gemm) copies.push_back(term.copy());
  const double stages = steps.stage_cycles();
  const std::string result = c.reads_of("out").front().buffer->name;
  const auto pace = [&](const Tile& tile, const Tile&, const Steps::Elements& elements) {
    const std::int64_t results = elements(result, isa::Memory::acc);
    Steps::Pace cycles;
    for (const Steps::Operand& term : terms) steps.add_operand(cycles, term, tile, elements);
    cycles.finish += stages * static_cast<double>(results) + steps.constants_cycles(tile);
    cycles.store = steps.stored(static_cast<double>(results * config.element_bytes(isa::Memory::out)),
                                steps.transfers_of("Y", tile));
    return cycles;
  };
  if (!steps.sample_tile(kind, pace)) return;
  steps.recall([&] {
    steps.tile_output();
    steps.place_stages();
    steps.finish_stages("");
    for (const Steps::Operand& term : terms) steps.widen(term);
    steps.tensorize_stages("");
  });
  steps.take_slots(kind, copies, "");
}

void write_move(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  write(kMove, c, config, models);
}
void write_lines(schedule::Context& c, const isa::HardwareConfig& config, TileModels& models) {
  write(kLines, c, config, models);
}

}  // namespace

const Kind kMove{"move", 1, write_move}, kLines{"piecewise_linear", 1, write_lines};

}  // namespace dovetail::accel
