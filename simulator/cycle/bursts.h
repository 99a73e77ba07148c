// The geometry of a transfer: rows of DRAM elements, the bursts that carry them, and the slots in which the beats are
// used (docs/reference/timing.md, section 3).
#pragma once

#include <cstdint>

#include "isa/config.h"
#include "isa/instruction.h"

namespace dovetail::simulator {

struct Burst {
  std::uint64_t address = 0;  // of the first beat, a multiple of the bus width
  std::uint32_t beats = 0;
  std::uint64_t pads = 0;  // pad slots right before it
  std::uint64_t slots = 0;
  std::uint32_t first_slots = 0;  // slots of the first beat
  std::uint32_t slots_per_beat = 0;
  bool last = false;  // the transfer's last burst

  // The number of slots up to and including the one that uses beat `beat`.
  std::uint64_t slots_through(std::uint64_t beat) const {
    const std::uint64_t through = first_slots + beat * slots_per_beat;
    return through < slots ? through : slots;
  }
};

// Constants of all transfers.
struct BusGeometry {
  explicit BusGeometry(const isa::HardwareConfig& config);
  int bus_log2;
  std::uint64_t most_beats;      // per burst
  std::uint64_t boundary_beats;  // no burst crosses a multiple of it
};

struct BurstTotals {
  std::uint64_t bursts = 0, beats = 0;
};
// The totals over all bursts of a LOAD or STORE, without iterating over them. `element_bytes`: size of the memory's
// elements.
BurstTotals burst_totals(const BusGeometry& bus, const isa::Transfer& transfer, std::uint64_t element_bytes);

// Iterates over the bursts of a transfer.
class Bursts {
 public:
  Bursts() = default;
  // The bursts of a LOAD or STORE. `element_bytes`: size of the memory's elements.
  Bursts(const BusGeometry& bus, const isa::Transfer& transfer, std::uint64_t element_bytes);
  // One row of `elements` at byte `address`.
  Bursts(const BusGeometry& bus, std::uint64_t address, std::uint64_t elements, std::uint64_t element_bytes);

  bool more() const { return row_ < rows_; }
  Burst next();  // precondition: more()

  // Pad slots after the last burst, or all of them if there is no burst.
  std::uint64_t tail_pads() const { return tail_pads_; }

 private:
  void begin_row();

  const BusGeometry* bus_ = nullptr;
  std::uint64_t rows_ = 0, row_ = 0;
  std::uint64_t address_ = 0, row_bytes_ = 0, stride_bytes_ = 0;  // of the current row
  int element_log2_ = 0;
  std::uint64_t beat_ = 0, end_beat_ = 0;  // the next burst's first beat, and one past the row's last
  std::uint64_t pads_ = 0;                 // before the next burst
  std::uint64_t pads_between_ = 0, tail_pads_ = 0;
};

}  // namespace dovetail::simulator
