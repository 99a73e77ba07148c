#include "runtime/bandwidth.h"

#include "tests/catch.h"

using dovetail::runtime::measure_read_bandwidth;

TEST_CASE("bandwidth: sizes of any kind give a rate") {
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{5000}, std::uint64_t{1} << 20})
    for (const int threads : {1, 3}) {
      const double rate = measure_read_bandwidth(bytes, threads);
      CHECK(rate > 0.01);
      CHECK(rate < 1e6);
    }
}
