// What a tile costs, in cycles, as a function of what each queue does for it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/schedule/tile_model.h"
#include "isa/config.h"

namespace dovetail::accel {

// What the analytic choice supposes of the machine, beyond its configuration. Cycles, and parts of them. The values are
// confirmed by `fit_tile_costs HARDWARE MEMORY MODEL.onnx...` (bench/tiles), which times layers of models on the cycle
// simulator.
struct TileCosts {
  // From a request to the first byte, of a memory that answers as soon as many do: simulator::IdealMemory's default.
  double latency = 64;
  // The overhead of a LOAD or STORE in its queue, in addition to the time of its bytes (timing.md).
  double cycles_per_transfer = 4;
  // What the compute queue loses when the kind of its instructions changes (timing.md, section 9).
  double cycles_per_change = 10;
  // From when a place on chip is free to when what is loaded there can be used, beyond latency and bytes: tokens and
  // the start of both instructions.
  double slot_turnaround = 20;
  // The overhead of a tile: places change, and queues wait for each other.
  double cycles_per_tile = 40;
  // The part that is felt of what runs alongside something longer, since queues are not always full.
  double exposed_fraction = 0.15;
  // By how much longer it takes what slots hold up.
  double stall_fraction = 0.3;
  // The part that is felt of the first weights, where they come under the layer before, which may be short.
  double first_weights_fraction = 0.3;
  // Loading weights takes so large a part of the time of products that products never get ahead of it.
  double many_weights = 0.75;
  // Loading inputs again takes so large a part of the time of all loads that they should stay on chip.
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

// Loads of an operand: the cycles of one, and how many there are in the operation.
struct Loads {
  double cycles = 0;
  std::int64_t times = 0;
};
// What a tile costs, in cycles of each queue while nothing holds it up.
struct Pace {
  Loads inputs, weights;
  double compute = 0;     // for a tile of the reduction over channels
  double first_load = 0;  // what must be there before anything is computed
  double finish = 0;      // of the compute queue when a sum is complete: its epilogue, loads of ACC
  double added = 0;       // loads of operands that are widened, which have slots as inputs have
  double added_turn = 0;  // these, one after the other, and what uses them
  double store = 0;
};

// Costs on one machine.
class MachineCosts {
 public:
  MachineCosts(const isa::HardwareConfig& config, const TileCosts& costs) : config_(config), costs_(costs) {}

  const TileCosts& costs() const { return costs_; }
  // Cycles of a transfer between DRAM and a memory, `bytes` in `transfers` instructions of a queue that other
  // instructions are ahead in; of one that nothing overlaps with.
  double streamed(double bytes, std::int64_t transfers) const;
  double exposed(double bytes, std::int64_t transfers) const;
  // Cycles of stores: each one ends with its last response, and there is a cycle between bursts (timing.md).
  double stored(double bytes, std::int64_t transfers) const;
  // Cycles of an operation of `trips` tiles. `changes`: changes between kinds of instructions in the compute queue, for
  // each tile.
  double operation(const Pace& pace, const Tile& trips, const Slots& slots, std::int64_t changes) const;

 private:
  const isa::HardwareConfig& config_;
  const TileCosts costs_;
};

}  // namespace dovetail::accel
