// The cost of a tile in cycles, as a function of the work of each queue.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/schedule/tile_model.h"

namespace dovetail::accel {

// Assumptions of the analytic choice about the machine, in addition to its configuration: cycles, and fractions. The
// values come from `fit_tile_costs HARDWARE MEMORY MODEL.onnx...` (bench/tiles), which times layers of models on the
// cycle simulator.
struct TileCosts {
  // From a request to the first byte of a typical memory: simulator::IdealMemory's default.
  double latency = 64;
  // The overhead of a LOAD or STORE in its queue, in addition to the time of its bytes (timing.md).
  double cycles_per_transfer = 4;
  // The cycles that the compute queue loses when the kind of its instructions changes (timing.md, section 9).
  double cycles_per_change = 10;
  // From when a slot is free until its new content can be used, in addition to latency and bytes: tokens and the start
  // of both instructions.
  double slot_turnaround = 20;
  // The overhead of a tile: places change, and queues wait for each other.
  double cycles_per_tile = 40;
  // The exposed fraction of work that overlaps with longer work, since queues are not always full.
  double exposed_fraction = 0.15;
  // The additional fraction of time for work that waits for slots.
  double stall_fraction = 0.3;
  // The exposed fraction of the first weights, whose loads overlap with the layer before, which may be short.
  double first_weights_fraction = 0.3;
  // If loading weights takes at least this fraction of the time of products, products always wait for weights.
  double many_weights = 0.75;
  // If loading inputs again takes at least this fraction of the time of all loads, they should stay on chip.
  double many_inputs = 0.25;

  double slot_turnaround_cycles() const { return latency + slot_turnaround; }
};
struct TileCostRow {
  std::string_view name;
  double TileCosts::*value;
};
inline constexpr std::array kTileCostRows{TileCostRow{"latency", &TileCosts::latency},
                                          TileCostRow{"cycles_per_transfer", &TileCosts::cycles_per_transfer},
                                          TileCostRow{"cycles_per_change", &TileCosts::cycles_per_change},
                                          TileCostRow{"slot_turnaround", &TileCosts::slot_turnaround},
                                          TileCostRow{"cycles_per_tile", &TileCosts::cycles_per_tile},
                                          TileCostRow{"exposed_fraction", &TileCosts::exposed_fraction},
                                          TileCostRow{"stall_fraction", &TileCosts::stall_fraction},
                                          TileCostRow{"first_weights_fraction", &TileCosts::first_weights_fraction},
                                          TileCostRow{"many_weights", &TileCosts::many_weights},
                                          TileCostRow{"many_inputs", &TileCosts::many_inputs}};

// Loads of an operand: the cycles of one load, and the number of loads in the operation.
struct Loads {
  double cycles = 0;
  std::int64_t times = 0;
};
// The cost of a tile, in cycles of each queue without waiting.
struct Pace {
  Loads inputs, weights;
  double compute = 0;     // per tile of the reduction over channels
  double first_load = 0;  // loads that must end before the first product
  double finish = 0;      // compute queue cycles after a sum is complete: its epilogue, loads of ACC
  double added = 0;       // loads of operands that are widened, which have slots like inputs
  double added_turn = 0;  // these loads in sequence, and the work that uses them
  double store = 0;
  double micro_ops = 0;  // loads of the micro-ops of a tile, which tiles with the same slots share
};

// Costs on one machine.
class MachineCosts {
 public:
  MachineCosts(const Core& config, const TileCosts& costs) : config_(config), costs_(costs) {}

  const TileCosts& costs() const { return costs_; }
  // Cycles of a transfer of `bytes` between DRAM and a memory in `transfers` instructions: in a queue after other
  // instructions; without any overlap.
  double streamed(double bytes, std::int64_t transfers) const;
  double exposed(double bytes, std::int64_t transfers) const;
  // Cycles of stores: each one ends with its last response, and there is a cycle between bursts (timing.md).
  double stored(double bytes, std::int64_t transfers) const;
  // Cycles of an operation of `trips` tiles. `changes`: changes between kinds of instructions in the compute queue, for
  // each tile.
  double operation(const Pace& pace, const Tile& trips, const Slots& slots, std::int64_t changes) const;

 private:
  const Core& config_;
  const TileCosts costs_;
};

}  // namespace dovetail::accel
