#include "compiler/target/accel/stream/last_touch.h"

#include <random>
#include <vector>

#include "tests/catch.h"

namespace dovetail::accel {

TEST_CASE("last touch: random runs give the same as one entry for each element") {
  constexpr std::uint64_t kElements = 150;  // not a multiple of a block
  for (unsigned seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto run = [&] {
      const std::uint64_t begin = random() % kElements;
      return isa::Extent{begin, begin + 1 + random() % (kElements - begin)};
    };
    LastTouch last(kElements);
    std::vector<int> each(kElements, kNone);
    for (int i = 0; i < 300; ++i) {
      if (i == 200) {
        last.clear();
        each.assign(kElements, kNone);
      }
      const isa::Extent touched = run(), asked = run();
      const int instruction = random() % 8 == 0 ? kNone : i;
      last.touch(touched, instruction);
      for (std::uint64_t e = touched.begin; e < touched.end; ++e) each[e] = instruction;
      int latest = kNone;
      for (std::uint64_t e = asked.begin; e < asked.end; ++e) latest = std::max(latest, each[e]);
      REQUIRE(last.latest(asked) == latest);
      REQUIRE(last.latest(std::vector{asked, touched}) == std::max(latest, last.latest(touched)));
    }
  }
}

}  // namespace dovetail::accel
