#include "simulator/trace/traffic.h"

#include <numeric>

#include "tests/catch.h"

namespace dovetail::simulator {

namespace {

std::uint64_t sum(const std::vector<std::uint64_t>& windows) {
  return std::accumulate(windows.begin(), windows.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("beats are counted in the windows of their cycles") {
  Traffic traffic;
  traffic.add_read(14, 20);     // cycles 14 to 33
  traffic.add_written(32, 16);  // exactly one window
  CHECK(traffic.read == std::vector<std::uint64_t>{2, 16, 2});
  CHECK(traffic.written == std::vector<std::uint64_t>{0, 0, 16});
}

TEST_CASE("windows grow with the launch, and keep their beats") {
  Traffic traffic;
  std::uint64_t beats = 0;
  for (std::uint64_t cycle = 0; cycle < 1'000'000; cycle += 1000, beats += 7) traffic.add_read(cycle, 7);
  CHECK(traffic.read.size() <= Traffic::kMostWindows);
  CHECK(sum(traffic.read) == beats);
  CHECK(traffic.written.empty());
  const int log2 = traffic.window_log2;
  CHECK((std::uint64_t{Traffic::kMostWindows} << log2) > 999'000);
  CHECK((std::uint64_t{Traffic::kMostWindows} << (log2 - 1)) < 999'007);
  // A beat of the past still finds its window, and a far one widens all.
  traffic.add_written(3, 1);
  CHECK(traffic.written[0] == 1);
  traffic.add_read(std::uint64_t{1} << 40, 1);
  CHECK(sum(traffic.read) == beats + 1);
  CHECK(traffic.read.back() == 1);
  CHECK(sum(traffic.written) == 1);
}

}  // namespace dovetail::simulator
