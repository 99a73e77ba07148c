#include "isa/verify/interval_map.h"

#include <array>
#include <optional>

#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::test {

TEST_CASE("an interval map is an array with gaps") {
  constexpr std::uint64_t kSize = 60;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    isa::IntervalMap<int> map;
    std::array<std::optional<int>, kSize> expected{};
    for (int step = 1; step < 60; ++step) {
      const std::uint64_t a = random.below(kSize + 1), b = random.below(kSize + 1);
      const isa::Extent extent{std::min(a, b), std::max(a, b)};
      if (random.chance(50)) {
        map.assign(extent, step);
        for (std::uint64_t i = extent.begin; i < extent.end; ++i) expected[i] = step;
      } else {
        std::uint64_t at = extent.begin;
        map.update(extent, [&](int& state, isa::Extent part) {
          REQUIRE(part.begin == at);
          at = part.end;
          for (std::uint64_t i = part.begin; i < part.end; ++i) REQUIRE(expected[i].value_or(0) == state);
          state += 1000;
        });
        REQUIRE(at == extent.end);
        for (std::uint64_t i = extent.begin; i < extent.end; ++i) expected[i] = expected[i].value_or(0) + 1000;
      }
      std::array<std::optional<int>, kSize> found{};
      map.query({5, kSize - 5}, [&](int state, isa::Extent part) {
        for (std::uint64_t i = part.begin; i < part.end; ++i) found[i] = state;
      });
      for (std::uint64_t i = 5; i < kSize - 5; ++i) REQUIRE(found[i] == expected[i]);
    }
  }
}

}  // namespace dovetail::test
