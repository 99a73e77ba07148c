// What a tile costs, in cycles, as a function of what each queue does for it.
#pragma once

#include <cstdint>

#include "compiler/target/accel/sketches/operation_shape.h"
#include "compiler/target/accel/sketches/tile_model.h"
#include "isa/config.h"

namespace dovetail::accel {

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

// Cycles of a transfer between DRAM and a memory, `bytes` in `transfers` instructions of a queue that other
// instructions are ahead in; of one that nothing overlaps with.
double streamed_cycles(double bytes, std::int64_t transfers, const isa::HardwareConfig& config);
double exposed_cycles(double bytes, std::int64_t transfers, const isa::HardwareConfig& config);
// Of stores: one at a time, to its last response, and a cycle between bursts (timing.md).
double stored_cycles(double bytes, std::int64_t transfers, const isa::HardwareConfig& config);

// From when a place is free to when what is loaded there can be used, besides its bytes.
double turn_cycles();

// Cycles of an operation of so many tiles. `changes`: between kinds of instructions of the compute queue, for a tile.
double expected_cycles(const Pace& pace, const Tile& trips, const Slots& slots, std::int64_t changes);

}  // namespace dovetail::accel
