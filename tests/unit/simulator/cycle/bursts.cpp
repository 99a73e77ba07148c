// The totals of a transfer's bursts are the sum over its bursts.
#include "simulator/cycle/bursts.h"

#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::simulator {

TEST_CASE("burst_totals equals the sum over Bursts") {
  std::uint64_t in_several = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    test::Random random(seed);
    isa::HardwareConfig config;
    config.bus_bytes = random.pick({4, 8, 16, 64});
    config.burst_beats = random.pick({1, 2, 3, 7, 32, 256});
    config.outstanding_beats = random.pick({1, 2, 5, 8, 128});
    const BusGeometry bus(config);
    const std::uint64_t element_bytes = random.pick({1, 4, 16, 256});
    isa::Load load;
    load.dram_base = random.below(3 * 4096 / element_bytes);
    load.y_size = static_cast<std::uint32_t>(random.below(5));
    load.x_size = static_cast<std::uint32_t>(random.below(random.chance(20) ? 3000 / element_bytes + 2 : 6));
    load.x_stride = static_cast<std::uint32_t>(random.below(40));
    load.x_pad_0 = static_cast<std::uint32_t>(random.below(3));
    BurstTotals expected;
    for (Bursts bursts(bus, load, element_bytes); bursts.more(); ++expected.bursts)
      expected.beats += bursts.next().beats;
    const BurstTotals totals = burst_totals(bus, load, element_bytes);
    INFO("seed " << seed);
    REQUIRE(totals.bursts == expected.bursts);
    REQUIRE(totals.beats == expected.beats);
    in_several += totals.bursts > load.y_size;
  }
  CHECK(in_several > 1000);
}

}  // namespace dovetail::simulator
