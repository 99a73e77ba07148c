#include "simulator/trace/traffic.h"

#include <algorithm>

namespace dovetail::simulator {

namespace {

void halve(std::vector<std::uint64_t>& windows) {
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const std::uint64_t beats = windows[i];
    windows[i] = 0;
    windows[i / 2] += beats;
  }
  windows.resize((windows.size() + 1) / 2);
}

}  // namespace

void Traffic::add(std::vector<std::uint64_t>& way, std::uint64_t cycle, std::uint64_t beats) {
  const std::uint64_t end = cycle + beats;
  while ((end - 1) >> window_log2 >= kMostWindows) {
    halve(read);
    halve(written);
    ++window_log2;
  }
  while (cycle < end) {
    const auto window = static_cast<std::size_t>(cycle >> window_log2);
    const std::uint64_t here = std::min(end, (std::uint64_t{window} + 1) << window_log2) - cycle;
    if (way.size() <= window) way.resize(window + 1);
    way[window] += here;
    cycle += here;
  }
}

}  // namespace dovetail::simulator
