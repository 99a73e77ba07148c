#include "explore/area/fpga_model.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

#include "explore/area/chip_memories.h"
#include "explore/area/kit_file.h"
#include "isa/spec/timing.h"
#include "simulator/rtl/find.h"

namespace dovetail::explore {

using isa::HardwareConfig;

namespace {

// What Yosys minimizes when it maps a memory (its techlibs/xilinx/brams_xc4v.txt, lutrams_xc5v.txt, lutrams_xcu.txt):
// the costs of the primitives, and half a unit for each bit of the multiplexer that joins several in depth.
constexpr double kRamb18Cost = 129, kRamb36Cost = 257, kCostPerLut = 2, kMuxCost = 0.5;

struct Mapping {
  double cost = std::numeric_limits<double>::infinity();
  FpgaMemory memory;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Primitives of `depth` words of `width` bits.
struct Grid {
  std::int64_t count = 0;
  double mux = 0;
};
Grid grid_of(std::int64_t words, std::int64_t bits, std::int64_t depth, std::int64_t width) {
  const std::int64_t rows = ceil_div(words, depth);
  return {rows * ceil_div(bits, width), kMuxCost * static_cast<double>(bits * (rows - 1))};
}

void keep_cheaper(Mapping& best, double cost, const FpgaMemory& memory) {
  if (cost < best.cost) best = {cost, memory};
}

}  // namespace

FpgaMemory map_memory(std::int64_t words, std::int64_t bits, bool registered, const FpgaFamily& family) {
  Mapping best;
  for (const std::int64_t depth : {32, 64}) {
    const Grid grid = grid_of(words, bits, depth, family.bits_of_32 * 32 / depth);
    const std::int64_t luts = grid.count * family.luts_per_memory;
    keep_cheaper(best, kCostPerLut * static_cast<double>(luts) + grid.mux, {.luts = luts});
  }
  if (!registered) return best.memory;
  // A RAMB18 has 16 Kbit and parity, which words of 9 bits and more use: 16K x 1 to 512 x 36. A RAMB36 is twice as
  // deep, and has words of 72 bits, too.
  for (const std::int64_t width : {1, 2, 4, 9, 18, 36, 72}) {
    const std::int64_t depth = (std::int64_t{1} << 14) / (width < 9 ? width : width / 9 * 8);
    if (width < 72) {
      const Grid grid = grid_of(words, bits, depth, width);
      keep_cheaper(best, kRamb18Cost * static_cast<double>(grid.count) + grid.mux, {.ramb18 = grid.count});
    }
    const Grid grid = grid_of(words, bits, 2 * depth, width);
    keep_cheaper(best, kRamb36Cost * static_cast<double>(grid.count) + grid.mux, {.ramb36 = grid.count});
  }
  return best.memory;
}

namespace {

// The queues that are too small for the chip's memories: dovetail_fifo.
std::vector<MemoryMacro> small_queues_of(const HardwareConfig& hardware) {
  return {{"waiting loads", isa::spec::kLoadWaiting.value, 8 * hardware.instruction_bytes() + 32},
          {"bursts to store", hardware.outstanding_beats, hardware.address_bits + 9},
          {"orders of reads", 3 * hardware.outstanding_beats, 2}};
}

}  // namespace

// 8 x 8 bits take a DSP, a product of 32 x 32 bits three, and the rescaling of REQUANT four.
std::int64_t dsps_of(const HardwareConfig& hardware) {
  const std::int64_t lanes = hardware.batch * hardware.block_out;
  return lanes * (hardware.block_in + 3 + (hardware.requant ? 4 : 0));
}

Result<FpgaModel> FpgaModel::of_kit(const FpgaFamily& family) {
  const std::string file = (simulator::hardware_folder() / "syn" / fmt::format("sweep.{}.json", family.flow)).string();
  DOVETAIL_ASSIGN(const Json json, read_json_file(file));
  DOVETAIL_ASSIGN(std::vector<SynthesisRun> runs, synthesis_runs_from_json(json, file));
  DOVETAIL_ASSIGN(LogicModel logic, LogicModel::fit(std::move(runs), file, Cells::luts));
  return FpgaModel(family, std::move(logic));
}

FpgaEstimate FpgaEstimate::times(std::int64_t accelerators) const {
  const auto count = static_cast<double>(accelerators);
  FpgaEstimate all = *this;
  for (double* const each : {&all.lut, &all.flip_flops, &all.dsp, &all.bram}) *each *= count;
  return all;
}

FpgaEstimate& FpgaEstimate::operator+=(const FpgaEstimate& other) {
  lut += other.lut;
  flip_flops += other.flip_flops;
  dsp += other.dsp;
  bram += other.bram;
  logic_levels = std::max(logic_levels, other.logic_levels);
  return *this;
}

FpgaEstimate FpgaModel::estimate(const HardwareConfig& hardware) const {
  FpgaMemory used;
  const auto add = [&](const MemoryMacro& memory, bool registered) {
    const FpgaMemory mapped = map_memory(memory.words, memory.bits, registered, *family_);
    used.luts += mapped.luts;
    used.ramb18 += mapped.ramb18;
    used.ramb36 += mapped.ramb36;
  };
  for (const MemoryMacro& memory : memories_of(hardware)) add(memory, !memory.visible_head);
  for (const MemoryMacro& queue : small_queues_of(hardware)) add(queue, false);
  return {.lut = logic_.logic(hardware) + static_cast<double>(used.luts),
          .flip_flops = logic_.flip_flops(hardware),
          .dsp = static_cast<double>(dsps_of(hardware)),
          .bram = static_cast<double>(used.ramb36) + static_cast<double>(used.ramb18) / 2,
          .logic_levels = logic_.levels(hardware)};
}

FpgaEstimate FpgaModel::estimate(const isa::Machine& machine) const {
  FpgaEstimate all = estimate(machine.hardware);
  if (machine.is_uniform()) return all.times(machine.system.accelerators);
  for (const HardwareConfig& other : machine.system.others) all += estimate(other);
  return all;
}

Json FpgaModel::report(const isa::Machine& machine) const {
  const FpgaEstimate estimated = estimate(machine);
  const ModelError lut = logic_.logic_error(true), levels = logic_.level_error(true);
  return {{"config", isa::name_of(machine)},
          {"accelerators", machine.system.accelerators},
          {"flow", family_->flow},
          {"lut", estimated.lut},
          {"flip_flops", estimated.flip_flops},
          {"dsp", estimated.dsp},
          {"bram", estimated.bram},
          {"logic_levels", estimated.logic_levels},
          {"error",
           {{"runs", lut.runs},
            {"lut_mean", lut.mean},
            {"lut_most", lut.most},
            {"levels_mean", levels.mean},
            {"levels_most", levels.most}}},
          {"extrapolates", all_extrapolated(machine, logic_)}};
}

}  // namespace dovetail::explore
