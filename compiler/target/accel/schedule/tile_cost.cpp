#include "compiler/target/accel/schedule/tile_cost.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dovetail::accel {

double MachineCosts::streamed(double bytes, std::int64_t transfers) const {
  return bytes / static_cast<double>(config_.bus_bytes) + static_cast<double>(transfers) * costs_.cycles_per_transfer;
}

double MachineCosts::exposed(double bytes, std::int64_t transfers) const {
  return streamed(bytes, transfers) + static_cast<double>(transfers) * (costs_.latency + costs_.cycles_per_change);
}

double MachineCosts::stored(double bytes, std::int64_t transfers) const {
  const double beats = bytes / static_cast<double>(config_.bus_bytes);
  return beats + beats / static_cast<double>(config_.longest_burst_beats()) +
         static_cast<double>(transfers) * (costs_.latency + costs_.cycles_per_change);
}

// The queues run in parallel as far as there are slots: a load waits until the previous content of its slot is used, a
// tile waits until its slot of ACC is stored. The first and the last steps do not overlap with the rest of the
// operation.
double MachineCosts::operation(const Pace& pace, const Tile& trips, const Slots& slots, std::int64_t changes) const {
  const double turnaround = costs_.slot_turnaround_cycles(), overlapped = costs_.exposed_fraction,
               stalled = 1 + costs_.stall_fraction;
  const auto overlap = [&](double a, double b) { return std::max(a, b) + overlapped * std::min(a, b); };
  const std::int64_t tiles = trips.results(), sums = tiles * trips.c, c = trips.c;
  const double finish = pace.finish + static_cast<double>(changes) * costs_.cycles_per_change,
               compute = static_cast<double>(c) * pace.compute + finish;
  double load = pace.added, each = 0;  // cycles per tile, on average; cycles per sum
  std::int64_t ring = INT64_MAX;       // slots of operands that are loaded for each sum
  for (const auto& [loads, places] : {std::pair(pace.inputs, slots.inp), std::pair(pace.weights, slots.wgt)}) {
    load += loads.cycles * static_cast<double>(loads.times) / static_cast<double>(tiles);
    if (loads.times == sums) each += loads.cycles, ring = std::min(ring, places);
  }
  double period = overlap(load, compute);  // cycles from one tile to the next
  // Raises the period to at least `cycles`, scaled by the stall factor, and `extra` cycles after them.
  const auto takes = [&](double cycles, double extra) { period = std::max(period, stalled * cycles + extra); };
  if (sums > 1 && each > 0) {
    // From one filling of a slot to its next filling.
    const double turn = each + turnaround + pace.compute;
    if (ring == 1) takes(static_cast<double>(c) * turn, finish);
    else takes(static_cast<double>(c) * turn / static_cast<double>(ring), 0);
    if (c > ring) {
      // From the last sum of a tile to that of the next one: through the slots of the ring, or by loading what is
      // missing.
      takes(static_cast<double>(1 + (c - 1) % ring) * pace.compute + static_cast<double>((c - 1) / ring) * turn,
            finish);
      takes(pace.compute + static_cast<double>(c - ring - 1) * each + turn, finish);
    }
  }
  if (tiles > 1)
    takes(slots.inp == 1 && pace.added > 0 ? load + compute : pace.added_turn / static_cast<double>(slots.inp), 0);
  period += costs_.cycles_per_tile;
  if (slots.acc == 1) {
    period += pace.store + turnaround;
  } else {
    period = overlap(period, pace.store);
    // Only what a store waits for is scaled by the stall factor, not the store itself.
    period = std::max(period, (stalled * compute + pace.store + turnaround) / static_cast<double>(slots.acc));
  }
  double cycles = static_cast<double>(tiles) * period + pace.first_load;
  // Operands that are loaded less often are loaded after loads of earlier tiles, which wait for their slots.
  for (const auto& [loads, places] : {std::pair(pace.inputs, slots.inp), std::pair(pace.weights, slots.wgt)}) {
    if (loads.times <= 1 || loads.times == sums) continue;
    const double hidden = places == 1 ? 0 : each == 0 ? period : static_cast<double>(ring) * period - each;
    cycles += static_cast<double>(loads.times - 1) * std::max(0.0, loads.cycles + turnaround - hidden);
  }
  // If loading weights takes longer than computing, it begins during the layers before, as far as there are slots.
  if (load > compute && pace.weights.times > 1)
    cycles -= overlapped * pace.weights.cycles * static_cast<double>(std::min(slots.wgt, pace.weights.times) - 1);
  const std::int64_t kernels = std::min(tiles, std::lcm(std::lcm(slots.inp, slots.wgt), slots.acc));
  return cycles + pace.store + pace.micro_ops * static_cast<double>(kernels) + 2 * costs_.latency;
}

}  // namespace dovetail::accel
