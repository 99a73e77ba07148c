// Softmax and normalizations: whole rows of a tile's pixels are widened into ACC, reduced there, and scaled.
#include "compiler/target/accel/programs/normalization.h"

#include <algorithm>
#include <functional>

#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/schedule/steps.h"
#include "compiler/target/accel/schedule/tile_choice.h"

namespace dovetail::accel {

namespace {

constexpr const char* kSums = "lanes.sums";  // of a row's channels, by GEMM

std::vector<WidenedOperand> operands_of_rows(const schedule::Context& c) {
  std::vector<WidenedOperand> operands{widened_operand(c, "x.", "X")};
  if (c.buffer("M")) operands.push_back(widened_operand(c, "m.", "M"));
  return operands;
}

// The steps of a stage are those of its largest operand. A step reads the result and an operand of that size in a cycle
// each; a smaller operand is read once for the steps that share its element, and constants for those of many pixels.
double cycles_of_row_stage(const TileChoice& choice, const std::string& block, const TileChoice::Elements& elements) {
  const std::string result = choice.c.written_by(block)->name;
  std::vector<std::int64_t> counts;
  for (const loops::Region& region : choice.c.reads_of(block))
    if (const std::string& name = region.buffer->name; name != result && !is_constants(name) && !is_table(name))
      counts.push_back(elements(name, isa::Memory::acc));
  std::ranges::sort(counts, std::greater{});
  const bool reduces = choice.c.block(block)->init != nullptr;
  if (reduces) counts.push_back(counts.front());
  const std::int64_t steps = counts.empty() ? elements(result, isa::Memory::acc) : counts.front();
  std::int64_t cycles = steps * (1 + serial_cycles(block) * choice.config.batch);
  for (std::size_t i = 1; i < counts.size(); ++i) cycles += counts[i];
  return static_cast<double>(cycles);
}

bool decide_rows(TileChoice& choice) {
  const std::vector<WidenedOperand> operands = operands_of_rows(choice.c);
  const std::string result = choice.c.reads_of("out").front().buffer->name;
  return choice.sample_tile([&](const Tile& tile, const Tile&, const TileChoice::Elements& elements) {
    Pace cycles;
    for (const WidenedOperand& operand : operands) choice.add_operand(cycles, operand, tile, elements);
    if (choice.c.block(kSums)) cycles.finish += static_cast<double>(elements("X", isa::Memory::acc));
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
  schedule::Context& c = steps.c;
  const std::vector<WidenedOperand> operands = operands_of_rows(c);
  steps.tile_output();
  steps.place_stages();
  steps.finish_stages("");
  if (c.block(kSums)) {  // products with the same copy
    steps.make_product(kSums);
    steps.split_widening("x.widen");
    c.s.set_scope("x.copy", kInpScope);
    c.s.compute_at("x.copy", "out.x_t");
    steps.lay_out_in_inp("X", "x.copy", "x.copy.c", "x.copy.n");
    c.s.cache_read(kSums, "IS", kWgtScope, "IS.copy");
    steps.tensorize_widening("x.widen");
    steps.tensorize_product(kSums);
  } else {
    for (const WidenedOperand& operand : operands) steps.widen(operand);
  }
  steps.tensorize_stages("");
  steps.take_slots(c.block("x.copy") ? std::vector<std::string>{"x.copy"} : copies_of(operands), {});
}

}  // namespace

const Kind kSoftmax{"softmax", 1, decide_rows, write_rows}, kNormalization{"normalization", 1, decide_rows, write_rows};

}  // namespace dovetail::accel
