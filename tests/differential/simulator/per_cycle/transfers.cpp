#include "tests/differential/simulator/per_cycle/transfers.h"

#include <algorithm>

namespace dovetail::test::per_cycle {

void add_row(const isa::HardwareConfig& config, std::uint64_t address, std::uint64_t elements,
             std::uint64_t element_bytes, Geometry& geometry) {
  const auto bus = static_cast<std::uint64_t>(config.bus_bytes);
  const std::uint64_t first = address / bus, last = (address + elements * element_bytes - 1) / bus;
  const auto most = static_cast<std::uint64_t>(std::min(config.burst_beats, config.outstanding_beats));
  for (std::uint64_t beat = first; beat <= last;) {
    std::uint64_t beats = 1;
    while (beats < most && beat + beats <= last && (beat + beats) * bus % 4096 != 0) ++beats;
    geometry.bursts.push_back({beat * bus, static_cast<std::uint32_t>(beats)});
    beat += beats;
  }
  if (element_bytes >= bus) {
    for (std::uint64_t beat = first; beat <= last; ++beat) geometry.slots.push_back({true, true, true});
  } else {
    for (std::uint64_t i = 0; i < elements; ++i) {
      const std::uint64_t at = address + i * element_bytes;
      const bool opens = i == 0 || at % bus == 0;
      const bool last_of_beat = i + 1 == elements || (at + element_bytes) % bus == 0;
      geometry.slots.push_back({true, opens, last_of_beat});
    }
  }
}

Geometry geometry_of(const isa::HardwareConfig& config, const isa::Transfer& transfer) {
  Geometry geometry;
  if (transfer.x_size == 0) return geometry;
  const auto bytes = static_cast<std::uint64_t>(config.element_bytes(transfer.memory));
  const std::uint64_t columns = std::uint64_t{transfer.x_pad_0} + transfer.x_size + transfer.x_pad_1;
  const auto pads = [&](std::uint64_t count) {
    geometry.slots.insert(geometry.slots.end(), count, {false, false, false});
  };
  pads(transfer.y_pad_0 * columns);
  for (std::uint64_t y = 0; y < transfer.y_size; ++y) {
    pads(transfer.x_pad_0);
    add_row(config, (transfer.dram_base + y * transfer.x_stride) * bytes, transfer.x_size, bytes, geometry);
    pads(transfer.x_pad_1);
  }
  pads(transfer.y_pad_1 * columns);
  return geometry;
}

MemorySplit divide(Cycle wait, MemorySplit parts) {
  MemorySplit split;
  for (; wait > 0; --wait) {
    MemoryCause cause = MemoryCause::latency;
    for (const MemoryCause part : {MemoryCause::arbitration, MemoryCause::full, MemoryCause::bandwidth,
                                   MemoryCause::row_miss, MemoryCause::refresh})
      if (parts[part] > 0) cause = part;
    ++split[cause];
    if (cause != MemoryCause::latency) --parts[cause];
  }
  return split;
}

}  // namespace dovetail::test::per_cycle
