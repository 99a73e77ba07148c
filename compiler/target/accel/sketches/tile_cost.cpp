#include "compiler/target/accel/sketches/tile_cost.h"

#include <algorithm>
#include <utility>

namespace dovetail::accel {

namespace {

// A memory that answers as soon as many do; what an instruction of load or store costs the queue besides its bytes; and
// what the compute queue loses when the kind of its instructions changes (timing.md).
constexpr double kLatency = 64, kCyclesPerTransfer = 4, kCyclesPerChange = 10;
// From when a place is free to when what is loaded there can be used, besides its bytes.
constexpr double kTurn = kLatency + 20;
// What a tile takes besides: places change, and queues wait for each other.
constexpr double kCyclesPerTile = 40;

}  // namespace

double turn_cycles() { return kTurn; }

double streamed_cycles(double bytes, std::int64_t transfers, const isa::HardwareConfig& config) {
  return bytes / static_cast<double>(config.bus_bytes) + static_cast<double>(transfers) * kCyclesPerTransfer;
}

double exposed_cycles(double bytes, std::int64_t transfers, const isa::HardwareConfig& config) {
  return streamed_cycles(bytes, transfers, config) + static_cast<double>(transfers) * (kLatency + kCyclesPerChange);
}

double stored_cycles(double bytes, std::int64_t transfers, const isa::HardwareConfig& config) {
  const double beats = bytes / static_cast<double>(config.bus_bytes);
  return beats + beats / static_cast<double>(config.longest_burst_beats()) +
         static_cast<double>(transfers) * (kLatency + kCyclesPerChange);
}

// The queues run alongside each other as far as there are slots: a load waits until what its slot held is used, a tile
// for its slot of ACC to be stored. What comes first and last overlaps with nothing of the operation.
double expected_cycles(const Pace& pace, const Tile& trips, const Slots& slots, std::int64_t changes) {
  // Of what runs alongside something longer, this part is felt: queues are not always full. What slots hold up takes as
  // much longer.
  constexpr double kFelt = 0.15, kHeldUp = 0.3;
  const auto beside = [](double a, double b) { return std::max(a, b) + kFelt * std::min(a, b); };
  const std::int64_t tiles = trips.results(), sums = tiles * trips.c, c = trips.c;
  const double finish = pace.finish + static_cast<double>(changes) * kCyclesPerChange,
               compute = static_cast<double>(c) * pace.compute + finish;
  double load = pace.added, each = 0;  // for a tile, on average; for a sum
  std::int64_t ring = INT64_MAX;       // slots of what is loaded for each sum
  for (const auto& [loads, places] : {std::pair(pace.inputs, slots.inp), std::pair(pace.weights, slots.wgt)}) {
    load += loads.cycles * static_cast<double>(loads.times) / static_cast<double>(tiles);
    if (loads.times == sums) each += loads.cycles, ring = std::min(ring, places);
  }
  double period = beside(load, compute);  // of a tile
  // It takes no less than this, of which a part is felt, and what comes besides.
  const auto takes = [&](double cycles, double besides) {
    period = std::max(period, (1 + kHeldUp) * cycles + besides);
  };
  if (sums > 1 && each > 0) {
    // From when a slot may be filled to when it may be filled again.
    const double turn = each + kTurn + pace.compute;
    if (ring == 1) takes(static_cast<double>(c) * turn, finish);
    else takes(static_cast<double>(c) * turn / static_cast<double>(ring), 0);
    if (c > ring) {
      // From the last sum of a tile to that of the next one: in turns of the ring, or loading what is not there yet.
      takes(static_cast<double>(1 + (c - 1) % ring) * pace.compute + static_cast<double>((c - 1) / ring) * turn,
            finish);
      takes(pace.compute + static_cast<double>(c - ring - 1) * each + turn, finish);
    }
  }
  if (tiles > 1)
    takes(slots.inp == 1 && pace.added > 0 ? load + compute : pace.added_turn / static_cast<double>(slots.inp), 0);
  period += kCyclesPerTile;
  if (slots.acc == 1) {
    period += pace.store + kTurn;
  } else {
    period = beside(period, pace.store);
    // A store lasts as long as it says; what it waits for is held up.
    period = std::max(period, ((1 + kHeldUp) * compute + pace.store + kTurn) / static_cast<double>(slots.acc));
  }
  double cycles = static_cast<double>(tiles) * period + pace.first_load;
  // What is loaded less often comes after loads of the tiles before, which wait for their slots.
  for (const auto& [loads, places] : {std::pair(pace.inputs, slots.inp), std::pair(pace.weights, slots.wgt)}) {
    if (loads.times <= 1 || loads.times == sums) continue;
    const double hidden = places == 1 ? 0 : each == 0 ? period : static_cast<double>(ring) * period - each;
    cycles += static_cast<double>(loads.times - 1) * std::max(0.0, loads.cycles + kTurn - hidden);
  }
  // Weights that take their time for loading begin under the layers before, as far as there are places.
  if (load > compute && pace.weights.times > 1)
    cycles -= kFelt * pace.weights.cycles * static_cast<double>(std::min(slots.wgt, pace.weights.times) - 1);
  return cycles + pace.store + 2 * kLatency;
}

}  // namespace dovetail::accel
