// The area model: its error on held-out runs, exact memory sizes, and monotonicity in each parameter.
#include "explore/area/area_model.h"

#include <fstream>

#include "explore/area/chip_memories.h"
#include "isa/spec/config.h"
#include "tests/catch.h"

namespace dovetail::explore {

namespace {

const AreaModel& model() {
  static const AreaModel made = *AreaModel::of_kit();
  return made;
}

}  // namespace

TEST_CASE("area model: the error on held-out runs is less than a tenth") {
  const LogicModel& gates = model().gates();
  CHECK(gates.logic_error(false).runs >= 25);
  REQUIRE(gates.logic_error(true).runs >= 12);
  CHECK(gates.logic_error(true).mean < 0.05);
  CHECK(gates.logic_error(true).most < 0.10);
  CHECK(gates.flip_flop_error(true).most < 0.10);
  CHECK(gates.level_error(true).mean < 0.15);
}

TEST_CASE("area model: memories have the bits that Yosys counts") {
  const auto json = read_json_file(std::string(DOVETAIL_SOURCE_DIR) + "/hw/syn/sweep.generic.json");
  REQUIRE(json.ok());
  const auto runs = synthesis_runs_from_json(*json, "sweep.generic.json");
  REQUIRE(runs.ok());
  for (const SynthesisRun& run : *runs) {
    std::int64_t bits = 0;
    for (const MemoryMacro& memory : memories_of(run.hardware)) bits += memory.size();
    // Yosys also counts a few small memories: waits of the load unit, orders of reads, bursts of stores.
    CHECK(run.memory_bits >= bits);
    CHECK(static_cast<double>(run.memory_bits - bits) <= 0.06 * static_cast<double>(bits) + 3000);
  }
}

TEST_CASE("area model: more of any resource needs no less area") {
  const isa::HardwareConfig base;
  const AreaEstimate small = model().estimate(base);
  CHECK(small.mm2() > 0);
  CHECK(small.clock_mhz > 50);
  const auto larger = [&](auto change) {
    isa::HardwareConfig config = base;
    change(config);
    return model().estimate(config);
  };
  CHECK(larger([](auto& c) { c.block_out = 32; }).gates > 1.5 * small.gates);
  CHECK(larger([](auto& c) { c.wgt_buffer_bytes *= 2; }).sram_mm2 > small.sram_mm2);
  CHECK(larger([](auto& c) { c.requant = true; }).gates > small.gates);
  CHECK(larger([](auto& c) { c.bus_bytes = 32; }).mm2() > small.mm2());
  for (const isa::spec::Extension& row : isa::spec::kExtensions) {
    if (row.key == "overwrite") continue;  // a few gates
    CAPTURE(std::string(row.key));
    isa::HardwareConfig config = base;
    config.requant = true;
    const double without = model().estimate(config).gates;
    config.*row.member = true;
    CHECK((row.key == "requant" || model().estimate(config).gates > without));
  }
}

TEST_CASE("area model: beyond the range of its runs it extrapolates, and names in what") {
  isa::HardwareConfig config;
  CHECK(model().extrapolates(config).empty());  // 1 x 16 x 16 = 256 multipliers
  CHECK_THAT(model().error_text(), Catch::Matchers::EndsWith("all runs have 16 to 256 multipliers"));
  // 1 x 32 x 32 = 1024 multipliers. Runs have 32 lanes (1x8x32) and 64 inputs (4x16x4).
  config.block_in = config.block_out = 32;
  CHECK(model().extrapolates(config) == std::vector<std::string>{"1024 multipliers (runs have 16 to 256)"});
  config = {};
  config.bus_bytes = 64;
  CHECK(model().extrapolates(config) == std::vector<std::string>{"64 bytes of the port (runs have 4 to 32)"});
}

TEST_CASE("area model: invalid data is refused") {
  CHECK_FALSE(synthesis_runs_from_json(Json{{"runs", {{{"held_back", true}}}}}, "x").ok());
  CHECK_FALSE(technology_from_json(Json{{"name", "none"}}, "x").ok());
  Json technology = *read_json_file(std::string(DOVETAIL_SOURCE_DIR) + "/hw/syn/technology.json");
  CHECK(technology_from_json(technology, "x").ok());
  technology["gate_um2"]["unit"] = "mm²";
  CHECK_THAT(to_string(technology_from_json(technology, "x").errors()),
             Catch::Matchers::Contains("the unit is \"mm²\", but must be \"µm²\""));
  CHECK_FALSE(LogicModel::fit({}, "x").ok());
}

}  // namespace dovetail::explore
