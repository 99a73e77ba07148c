#include "driver/system.h"

#include <cmath>
#include <variant>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string why(const isa::SystemConfig& config, const SystemChanges& changes) {
  const auto system = resolve_system(config, "mine.json", changes);
  return system.ok() ? "" : to_string(system.errors());
}

std::int64_t clock_ps(const System& system) { return std::get<simulator::BankMemory>(system.memory).clock_ps; }

}  // namespace

TEST_CASE("clock and memory come from the configuration, and options override them") {
  const isa::SystemConfig config{100, "bank:ddr4-2400"};
  const auto own = resolve_system(config, "mine.json", {});
  REQUIRE(own.ok());
  CHECK(clock_ps(*own) == 10000);
  CHECK(own->seconds(1'000'000) == 0.01);

  // The DRAM uses the accelerator's clock, whatever its source.
  const auto faster = resolve_system(config, "mine.json", {.clock_mhz = 333});
  CHECK(clock_ps(*faster) == 3003);
  CHECK(faster->clock_from == "--clock");
  CHECK(faster->memory_from == "mine.json");
  const auto other = resolve_system(config, "mine.json", {.memory = "bank:hbm2,outstanding=4"});
  CHECK(clock_ps(*other) == 10000);
  CHECK(other->memory_from == "--memory");
  CHECK(other->clock_from == "mine.json");

  // --memory alone may state it, in the text of a memory.
  const auto stated = resolve_system(config, "mine.json", {.memory = "bank:hbm2,clock-ps=2500"});
  CHECK(stated->clock_mhz == 400);
  CHECK(stated->clock_from == "--memory");
  CHECK(resolve_system(config, "mine.json", {.clock_mhz = 333, .memory = "bank:hbm2,clock-ps=3003"}).ok());
}

TEST_CASE("system: a configuration may set the DRAM's clock, and an ideal memory has none") {
  const auto slow = resolve_system({500, "bank:ddr4-2400", 800}, "mine.json", {});
  REQUIRE(slow.ok());
  CHECK(std::get<simulator::BankMemory>(slow->memory).standard.clock_ps == 1250);
  const std::string text = simulator::to_string(slow->memory);
  CHECK(text == "bank:ddr4-2400,clock-ps=2000,dram-ps=1250,controller=8,outstanding=16");
  CHECK(simulator::to_string(simulator::parse_memory(text).value()) == text);
  CHECK_THAT(why({500, "ideal", 800}, {}), ContainsSubstring("the memory ideal has no separate clock"));
}

TEST_CASE("system: a configuration that sets the DRAM's clock needs one for the DRAM of --memory, too") {
  const isa::SystemConfig config{500, "bank:ddr4-2400", 800};
  CHECK_THAT(why(config, {.memory = "bank:hbm2"}),
             ContainsSubstring("mine.json sets memory_clock_mhz 800 for the memory bank:ddr4-2400") &&
                 ContainsSubstring("add dram-ps=1250 to --memory for 800 MHz, or dram-ps=1000"));
  const auto dram_ps = [](const System& system) {
    return std::get<simulator::BankMemory>(system.memory).standard.clock_ps;
  };
  CHECK(dram_ps(resolve_system(config, "mine.json", {.memory = "bank:hbm2,dram-ps=1250"}).value()) == 1250);
  CHECK(dram_ps(resolve_system(config, "mine.json", {.memory = "bank:hbm2,dram-ps=1000"}).value()) == 1000);
  CHECK(resolve_system(config, "mine.json", {.memory = "ideal"}).ok());  // has no clock
  CHECK_THAT(why({500, "bank:ddr4-2400,dram-ps=900", 800}, {}),
             ContainsSubstring("but memory_clock_mhz 800 does too") && ContainsSubstring("remove dram-ps"));
}

TEST_CASE("system: the settings stored in a bundle give the same system") {
  for (const isa::SystemConfig& config :
       {isa::SystemConfig{}, isa::SystemConfig{250, "bank:lpddr4"}, isa::SystemConfig{333, "bank:ddr4-2400", 800}}) {
    const System system = resolve_system(config, "mine.json", {}).value();
    const System again = resolve_system(config_of(system), "mine.json", {}).value();
    CHECK(again.clock_mhz == system.clock_mhz);
    CHECK(again.memory == system.memory);
  }
}

TEST_CASE("the number of accelerators comes from the configuration, the bundle or a change of them") {
  isa::SystemConfig config;
  config.accelerators = 2;
  const System own = resolve_system(config, "mine.json", {}).value();
  CHECK(own.accelerators == 2);
  CHECK(resolve_system(config_of(own), "the bundle", {})->accelerators == 2);
  SystemChanges changes;
  changes.accelerators = 1;
  const System one = resolve_system(config, "mine.json", changes).value();
  CHECK(one.accelerators == 1);
  CHECK(refuse_several(one, "it").ok());
  CHECK_THAT(to_string(refuse_several(own, "it").errors()),
             ContainsSubstring("mine.json sets 2") && ContainsSubstring("--accelerators 1"));
  for (const std::int64_t wrong : {0, 65}) {
    changes.accelerators = wrong;
    CHECK_THAT(why(config, changes), ContainsSubstring("the number must be an integer from 1 to 64"));
  }
}

TEST_CASE("system: unknown or mismatched clocks and memories are errors") {
  for (const double wrong : {0.0, -1.0, 1000001.0, 0.5, std::nan("")})
    CHECK_THAT(why({}, {.clock_mhz = wrong}), ContainsSubstring("invalid value for --clock") &&
                                                  ContainsSubstring("the clock must be a number from 1 to 1000000"));
  CHECK_THAT(why({}, {.memory = "marble"}), ContainsSubstring("there is no memory model \"marble\""));
  CHECK_THAT(why({500, "marble"}, {}), ContainsSubstring("mine.json, \"system.memory\"") &&
                                           ContainsSubstring("there is no memory model \"marble\""));
  CHECK_THAT(why({500, "bank:hbm2,clock-ps=2000"}, {}),
             ContainsSubstring("remove clock-ps, since clock_mhz sets the clock"));
  CHECK_THAT(why({}, {.clock_mhz = 100, .memory = "bank:hbm2,clock-ps=3003"}),
             ContainsSubstring("clock-ps=3003 means 333 MHz, but --clock is 100 MHz"));
}
