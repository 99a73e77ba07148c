#include "base/int8_sums.h"

#include <cstdlib>
#include <vector>

#include "tests/catch.h"

using namespace dovetail;

TEST_CASE("sums of int8 values are exact for any number of them") {
  for (const std::size_t count : {0u, 1u, 15u, 16u, 17u, 1000u, (16u << 16) + 35u}) {
    std::vector<std::int8_t> values(count);
    std::int64_t expected = 0, distances = 0;
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 256) - 128);
      expected += values[i];
      distances += std::abs(values[i] - 5);
    }
    CHECK(sum(values) == expected);
    CHECK(sum_of_distances(values, 5) == distances);
  }
  // The sum exceeds int32.
  const std::vector<std::int8_t> lowest(std::size_t{1} << 25, -128);
  CHECK(sum(lowest) == -(std::int64_t{128} << 25));
  CHECK(sum_of_distances(lowest, 127) == std::int64_t{255} << 25);
}
