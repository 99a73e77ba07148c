#include "isa/verify/index_set.h"

#include <set>

#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::test {

TEST_CASE("index sets contain the sums they represent") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const std::uint64_t depth = random.pick({4u, 64u, 100u, 128u, 1000u, 4096u});
    isa::IndexSet set(depth);
    for (int again = 0; again < 2; ++again) {  // clear() leaves no element
      std::set<std::uint64_t> expected;
      set.clear();
      for (std::uint64_t i = random.below(6); i > 0; --i) {
        const std::uint64_t element = random.below(depth + depth / 8 + 1);
        set.insert(element);
        expected.insert(element);
      }
      for (std::uint64_t loops = random.below(3); loops > 0; --loops) {
        const std::uint64_t step =
            random.pick({std::uint64_t{0}, std::uint64_t{1}, random.below(70), random.below(2 * depth)});
        const std::uint64_t count = random.pick({std::uint64_t{1}, random.between(1, 9), random.between(1, 300)});
        set.repeat(step, count);
        std::set<std::uint64_t> sums;
        for (const std::uint64_t e : expected)
          for (std::uint64_t i = 0; i < count; ++i) sums.insert(e + i * step);
        expected = sums;
      }
      std::vector<isa::Extent> runs;
      set.runs(runs);
      std::set<std::uint64_t> found;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i != 0) REQUIRE(runs[i].begin > runs[i - 1].end);  // maximal
        for (std::uint64_t e = runs[i].begin; e < runs[i].end; ++e) found.insert(e);
      }
      std::erase_if(expected, [&](std::uint64_t e) { return e >= depth; });
      INFO("seed " << seed);
      REQUIRE(found == expected);
    }
  }
}

}  // namespace dovetail::test
