// The causes of waits for memory. docs/reference/timing.md, section 11, defines every number;
// docs/reference/memory-models.md describes how each memory attributes its part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace dovetail::simulator {

enum class MemoryCause : std::uint8_t {
  latency,    // the time of an idle memory, and the fixed steps of the port
  bandwidth,  // data paths busy with earlier beats
  row_miss,   // another row, or none, was open
  refresh,
  full,         // the memory accepted no more bursts
  arbitration,  // another requester was served first
};
inline constexpr std::array<std::string_view, 6> kMemoryCauseNames{"latency", "bandwidth", "row_miss",
                                                                   "refresh", "full",      "arbitration"};

// Cycles by MemoryCause.
struct MemorySplit {
  std::array<std::uint64_t, kMemoryCauseNames.size()> cycles{};

  std::uint64_t& operator[](MemoryCause cause) { return cycles[static_cast<std::size_t>(cause)]; }
  std::uint64_t operator[](MemoryCause cause) const { return cycles[static_cast<std::size_t>(cause)]; }
  std::uint64_t total() const { return std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0}); }
  MemorySplit& operator+=(const MemorySplit& other) {
    for (std::size_t i = 0; i < cycles.size(); ++i) cycles[i] += other.cycles[i];
    return *this;
  }
  bool operator==(const MemorySplit&) const = default;
};

// Divides `wait` cycles of a burst's delay among the causes: exceptional causes first, so that each gets the cycles
// that its absence would have saved; the remainder is latency.
inline MemorySplit divide_wait(std::uint64_t wait, const MemorySplit& parts) {
  MemorySplit split;
  using enum MemoryCause;
  for (const MemoryCause cause : {refresh, row_miss, bandwidth, full, arbitration}) {
    const std::uint64_t taken = std::min(wait, parts[cause]);
    split[cause] = taken;
    wait -= taken;
  }
  split[latency] = wait;
  return split;
}

}  // namespace dovetail::simulator
