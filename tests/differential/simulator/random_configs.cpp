// Random configurations under right and wrong programs, with the budget of every build: ./dev torture N
// --random-configs COUNT runs more.
#include "simulator/rtl/model_file.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tier.h"
#include "tests/torture/campaign.h"

namespace dovetail::test {

TEST_CASE("functional, cycle and SystemC agree on random programs of random configurations, right and wrong") {
  Campaign campaign({.instructions = 60,
                     .wrong_percent = 30,
                     .engines = {.systemc = simulator::find_systemc_engine().has_value(), .rtl = false},
                     .folder = DOVETAIL_BINARY_DIR "/torture"});
  CHECK(campaign.run_random(scaled(26)) == 0);
  CHECK(campaign.programs().instructions() > 26 * 60);
}

TEST_CASE("all engines agree on small random configurations: the sample has one, ./dev test --all eight") {
  if (!simulator::verilator_version()) {
    skip("Verilator is not installed");
    return;
  }
  Campaign campaign({.instructions = scaled(3000),
                     .wrong_percent = 30,
                     .engines = {.systemc = simulator::find_systemc_engine().has_value()},
                     .limits = DesignLimits{.macs = 16, .sram_bytes = 4096},
                     .folder = DOVETAIL_BINARY_DIR "/torture"});
  CHECK(campaign.run_random(judges_everything() ? 8 : 1) == 0);
  CHECK(campaign.wrong_programs() > 0);
}

}  // namespace dovetail::test
