// Beats on the memory port's data paths over time, in time windows whose width grows with the launch, so that their
// number stays bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dovetail::simulator {

struct Traffic {
  static constexpr std::size_t kMostWindows = 2048;

  int window_log2 = 4;                       // cycles of a window
  std::vector<std::uint64_t> read, written;  // beats in each window, up to the last nonzero one

  // Adds beats in consecutive cycles from `cycle` on. Cycles may come in any order.
  void add_read(std::uint64_t cycle, std::uint64_t beats) { add(read, cycle, beats); }
  void add_written(std::uint64_t cycle, std::uint64_t beats) { add(written, cycle, beats); }
  bool operator==(const Traffic&) const = default;

 private:
  void add(std::vector<std::uint64_t>& way, std::uint64_t cycle, std::uint64_t beats);
};

}  // namespace dovetail::simulator
