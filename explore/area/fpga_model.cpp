#include "explore/area/fpga_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "explore/area/chip_memories.h"

namespace dovetail::explore {

namespace {

using isa::HardwareConfig;

double multipliers(const HardwareConfig& c) { return static_cast<double>(c.batch * c.block_in * c.block_out); }
double result_lanes(const HardwareConfig& c) { return static_cast<double>(c.batch * c.block_out); }
double scaled_lanes(const HardwareConfig& c) { return c.requant ? result_lanes(c) : 0; }
constexpr Feature kDspFeatures[] = {multipliers, result_lanes, scaled_lanes};

// The block RAMs of a memory, in halves: of the shapes of a RAMB18 (36 bits of 512 words, 18 of 1,024, ...) and of a
// RAMB36, which is as deep and twice as wide, the one that takes the fewest halves. A shallow memory is made of LUTs.
double halves_of(const MemoryMacro& memory) {
  constexpr std::int64_t kShallow = 64;
  if (memory.words <= kShallow || memory.size() == 0) return 0;
  constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{512, 36}, {1024, 18}, {2048, 9},
                                                               {4096, 4}, {8192, 2},  {16384, 1}};
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  std::int64_t least = 0;
  for (const auto& [words, bits] : kShapes)
    for (const std::int64_t wide : {1, 2}) {
      const std::int64_t halves = up(memory.words, words) * up(memory.bits, bits * wide) * wide;
      if (least == 0 || halves < least) least = halves;
    }
  return static_cast<double>(least);
}

double bram_of(const HardwareConfig& hardware) {
  double halves = 0;
  for (const MemoryMacro& memory : memories_of(hardware)) halves += halves_of(memory);
  return halves / 2;
}

}  // namespace

FpgaUse FpgaUse::times(double designs) const {
  return {lut * designs, flip_flops * designs, dsp * designs, bram * designs, levels};
}

Result<FpgaModel> FpgaModel::fit(std::vector<SynthesisRun> runs, std::string_view file) {
  DOVETAIL_ASSIGN(LogicModel logic, LogicModel::fit(std::move(runs), file));
  FpgaModel model(std::move(logic));
  std::vector<const SynthesisRun*> fitted;
  std::vector<double> dsp;
  for (const SynthesisRun& run : model.logic_.runs())
    if (!run.held_back) {
      fitted.push_back(&run);
      dsp.push_back(static_cast<double>(run.dsp));
    }
  model.dsp_ = least_squares(fitted, dsp, kDspFeatures);
  return model;
}

FpgaUse FpgaModel::estimate(const HardwareConfig& hardware) const {
  return {.lut = logic_.logic(hardware),
          .flip_flops = logic_.flip_flops(hardware),
          .dsp = std::round(sum_of(dsp_, kDspFeatures, hardware)),
          .bram = bram_of(hardware),
          .levels = logic_.levels(hardware)};
}

ModelError FpgaModel::dsp_error(bool held_back) const {
  return error_of(
      logic_.runs(), held_back, [&](const auto& hardware) { return estimate(hardware).dsp; },
      [](const SynthesisRun& run) { return static_cast<double>(run.dsp); });
}

ModelError FpgaModel::bram_error(bool held_back) const {
  return error_of(logic_.runs(), held_back, bram_of, [](const SynthesisRun& run) {
    return static_cast<double>(run.ramb36) + static_cast<double>(run.ramb18) / 2;
  });
}

std::string FpgaModel::error_text() const {
  const auto text = [](std::string_view what, const ModelError& error) {
    return fmt::format("{} off by {:.1f} % on average, {:.1f} % at most", what, 100 * error.mean, 100 * error.most);
  };
  const auto [least, most] = logic_.multipliers();
  return fmt::format("{}; {}; {}; {}; {}; on {} other runs; all runs have {:.0f} to {:.0f} multipliers",
                     text("LUTs", logic_.logic_error(true)), text("flip-flops", logic_.flip_flop_error(true)),
                     text("DSPs", dsp_error(true)), text("block RAMs", bram_error(true)),
                     text("levels", logic_.level_error(true)), logic_.logic_error(true).runs, least, most);
}

Json FpgaModel::report(const HardwareConfig& hardware) const {
  const FpgaUse use = estimate(hardware);
  const auto json = [](const ModelError& error) { return Json{{"mean", error.mean}, {"most", error.most}}; };
  return {{"lut", use.lut},
          {"flip_flops", use.flip_flops},
          {"dsp", use.dsp},
          {"bram", use.bram},
          {"levels", use.levels},
          {"error",
           {{"runs", logic_.logic_error(true).runs},
            {"lut", json(logic_.logic_error(true))},
            {"flip_flops", json(logic_.flip_flop_error(true))},
            {"dsp", json(dsp_error(true))},
            {"bram", json(bram_error(true))},
            {"levels", json(logic_.level_error(true))}}},
          {"extrapolates", logic_.extrapolates(hardware)}};
}

}  // namespace dovetail::explore
