// The clock that a design's levels of logic suggest.
#include "driver/design_clock.h"

#include "driver/hardware_area.h"
#include "isa/system.h"
#include "tests/catch.h"

namespace dovetail::driver {

TEST_CASE("the clock of a design: its levels of logic, times the delay of a level") {
  // The area model has 65 levels for 1x16x16-ext (Yosys: 67); hw/syn/technology.json has 40 ps for a level: 1e6 / (65 *
  // 40) = 385 MHz.
  const isa::HardwareConfig config = isa::load_config("1x16x16-ext").value();
  const DesignClock clock = design_clock(config).value();
  CHECK(clock.level_ps == 40);
  CHECK(clock.levels == Approx(65).margin(0.5));
  CHECK(clock.mhz == Approx(1e6 / (clock.levels * 40)));
  CHECK(beyond_design(config, 380).empty());
  CHECK(beyond_design(config, 500) ==
        "500 MHz is beyond the 385 MHz of the design: 65 levels of logic of 40 ps by the area model, before placement");
}

TEST_CASE("the default clock is not beyond that of any named configuration") {
  for (const isa::Machine& machine : isa::named_machines()) {
    CAPTURE(machine.hardware.name);
    CHECK(beyond_design(machine.hardware, machine.system.clock_mhz) == "");
    // Nor beyond what the kit's run of Yosys has.
    const auto kept = committed_area(machine.hardware, "generic").value();
    REQUIRE(kept);
    CHECK(machine.system.clock_mhz <= 1e6 / (40.0 * static_cast<double>(kept->area.logic_levels)));
  }
}

}  // namespace dovetail::driver
