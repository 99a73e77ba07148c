#include "cli/report/system_text.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;

TEST_CASE("a system as text and JSON") {
  const driver::System one = driver::resolve_system({100, "bank:ddr4-2400"}, "mine.json", {}).value();
  CHECK(system_text(one) ==
        "clock         100 MHz (mine.json)\n"
        "memory        bank:ddr4-2400,clock-ps=10000,controller=8,outstanding=16 (mine.json)\n");
  CHECK_FALSE(system_json(one).contains("accelerators"));
  const driver::System two = driver::resolve_system({100, "ideal"}, "mine.json", {.accelerators = 2}).value();
  CHECK(
      system_text(two).ends_with("accelerators  2 that share the memory, each with its own sample (--accelerators)\n"));
  CHECK(system_json(two)["accelerators"] == 2);
}
