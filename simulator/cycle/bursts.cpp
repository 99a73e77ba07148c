#include "simulator/cycle/bursts.h"

#include <algorithm>
#include <bit>

#include "isa/semantics/load.h"
#include "isa/spec/timing.h"

namespace dovetail::simulator {

namespace {

int log2_of(std::uint64_t power) { return std::countr_zero(power); }

}  // namespace

BusGeometry::BusGeometry(const isa::HardwareConfig& config)
    : bus_log2(log2_of(static_cast<std::uint64_t>(config.bus_bytes))),
      most_beats(static_cast<std::uint64_t>(std::min(config.longest_burst_beats(), isa::spec::kMaxBurstBeats.value))),
      boundary_beats(static_cast<std::uint64_t>(isa::spec::kBurstBoundaryBytes.value / config.bus_bytes)) {}

BurstTotals burst_totals(const BusGeometry& bus, const isa::Transfer& transfer, std::uint64_t element_bytes) {
  BurstTotals totals;
  if (transfer.x_size == 0) return totals;
  const std::uint64_t row_bytes = transfer.x_size * element_bytes, stride_bytes = transfer.x_stride * element_bytes;
  std::uint64_t address = transfer.dram_base * element_bytes;
  for (std::uint64_t row = 0; row < transfer.y_size; ++row, address += stride_bytes) {
    std::uint64_t beat = address >> bus.bus_log2;
    const std::uint64_t end = ((address + row_bytes - 1) >> bus.bus_log2) + 1;
    totals.beats += end - beat;
    while (beat < end) {
      const std::uint64_t boundary = (beat | (bus.boundary_beats - 1)) + 1, beats = std::min(end, boundary) - beat;
      totals.bursts += beats <= bus.most_beats ? 1 : (beats + bus.most_beats - 1) / bus.most_beats;
      beat += beats;
    }
  }
  return totals;
}

Bursts::Bursts(const BusGeometry& bus, const isa::Transfer& transfer, std::uint64_t element_bytes)
    : bus_(&bus), element_log2_(log2_of(element_bytes)) {
  if (transfer.x_size == 0) return;
  const std::uint64_t columns = isa::semantics::loaded_columns(transfer);
  rows_ = transfer.y_size;
  address_ = transfer.dram_base << element_log2_;
  row_bytes_ = std::uint64_t{transfer.x_size} << element_log2_;
  stride_bytes_ = std::uint64_t{transfer.x_stride} << element_log2_;
  pads_between_ = std::uint64_t{transfer.x_pad_1} + transfer.x_pad_0;
  if (rows_ == 0) {
    tail_pads_ = (std::uint64_t{transfer.y_pad_0} + transfer.y_pad_1) * columns;
    return;
  }
  pads_ = transfer.y_pad_0 * columns + transfer.x_pad_0;
  tail_pads_ = transfer.x_pad_1 + transfer.y_pad_1 * columns;
  begin_row();
}

Bursts::Bursts(const BusGeometry& bus, std::uint64_t address, std::uint64_t elements, std::uint64_t element_bytes)
    : bus_(&bus),
      rows_(elements == 0 ? 0 : 1),
      address_(address),
      row_bytes_(elements * element_bytes),
      element_log2_(log2_of(element_bytes)) {
  if (rows_ != 0) begin_row();
}

void Bursts::begin_row() {
  beat_ = address_ >> bus_->bus_log2;
  end_beat_ = ((address_ + row_bytes_ - 1) >> bus_->bus_log2) + 1;
}

Burst Bursts::next() {
  const int bus_log2 = bus_->bus_log2;
  const std::uint64_t beats =
      std::min({bus_->most_beats, end_beat_ - beat_, bus_->boundary_beats - (beat_ & (bus_->boundary_beats - 1))});
  Burst burst{.address = beat_ << bus_log2, .beats = static_cast<std::uint32_t>(beats), .pads = pads_};
  if (element_log2_ >= bus_log2) {
    burst.slots = beats;
    burst.first_slots = burst.slots_per_beat = 1;
  } else {
    const std::uint64_t begin = std::max(address_, burst.address);
    const std::uint64_t end = std::min(address_ + row_bytes_, (beat_ + beats) << bus_log2);
    const std::uint64_t first_end = std::min(end, (beat_ + 1) << bus_log2);
    burst.slots = (end - begin) >> element_log2_;
    burst.first_slots = static_cast<std::uint32_t>((first_end - begin) >> element_log2_);
    burst.slots_per_beat = std::uint32_t{1} << (bus_log2 - element_log2_);
  }
  pads_ = 0;
  beat_ += beats;
  if (beat_ == end_beat_) {
    ++row_;
    burst.last = row_ == rows_;
    address_ += stride_bytes_;
    pads_ = pads_between_;
    if (!burst.last) begin_row();
  }
  return burst;
}

}  // namespace dovetail::simulator
