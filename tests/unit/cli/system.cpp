#include "cli/system.h"

#include <variant>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string why(const isa::SystemConfig& config, const SystemArguments& arguments) {
  const auto system = resolve_system(config, "mine.json", arguments);
  return system.ok() ? "" : to_string(system.errors());
}

std::int64_t clock_ps(const System& system) { return std::get<simulator::BankMemory>(system.memory).clock_ps; }

}  // namespace

TEST_CASE("clock and memory come from the configuration, and options override them") {
  const isa::SystemConfig config{100, "bank:ddr4-2400"};
  const auto own = resolve_system(config, "mine.json", {});
  REQUIRE(own.ok());
  CHECK(clock_ps(*own) == 10000);
  CHECK(system_text(*own) ==
        "clock         100 MHz (mine.json)\n"
        "memory        bank:ddr4-2400,clock-ps=10000,controller=8,outstanding=16 (mine.json)\n");
  CHECK(own->seconds(1'000'000) == 0.01);

  // The DRAM counts with the accelerator's clock, wherever that comes from.
  const auto faster = resolve_system(config, "mine.json", {.clock = "333", .memory = {}});
  CHECK(clock_ps(*faster) == 3003);
  CHECK(faster->clock_from == "--clock");
  CHECK(faster->memory_from == "mine.json");
  const auto other = resolve_system(config, "mine.json", {.clock = {}, .memory = "bank:hbm2,outstanding=4"});
  CHECK(clock_ps(*other) == 10000);
  CHECK(other->memory_from == "--memory");
  CHECK(other->clock_from == "mine.json");

  // --memory alone may state it, as the text of a memory has it.
  const auto stated = resolve_system(config, "mine.json", {.clock = {}, .memory = "bank:hbm2,clock-ps=2500"});
  CHECK(stated->clock_mhz == 400);
  CHECK(stated->clock_from == "--memory");
  CHECK(resolve_system(config, "mine.json", {.clock = "333", .memory = "bank:hbm2,clock-ps=3003"}).ok());
}

TEST_CASE("a memory's own clock") {
  const auto slow = resolve_system({500, "bank:ddr4-2400", 800}, "mine.json", {});
  REQUIRE(slow.ok());
  CHECK(std::get<simulator::BankMemory>(slow->memory).standard.clock_ps == 1250);
  const std::string text = simulator::to_string(slow->memory);
  CHECK(text == "bank:ddr4-2400,clock-ps=2000,dram-ps=1250,controller=8,outstanding=16");
  CHECK(simulator::to_string(simulator::parse_memory(text).value()) == text);
  CHECK_THAT(why({500, "ideal", 800}, {}), ContainsSubstring("the memory ideal has no clock of its own"));
}

TEST_CASE("what a bundle remembers gives the same system") {
  for (const isa::SystemConfig& config :
       {isa::SystemConfig{}, isa::SystemConfig{250, "bank:lpddr4"}, isa::SystemConfig{333, "bank:ddr4-2400", 800}}) {
    const System system = resolve_system(config, "mine.json", {}).value();
    const System again = resolve_system(config_of(system), "mine.json", {}).value();
    CHECK(again.clock_mhz == system.clock_mhz);
    CHECK(again.memory == system.memory);
  }
}

TEST_CASE("accelerators come from the configuration, the bundle or --accelerators") {
  isa::SystemConfig config;
  config.accelerators = 2;
  const System own = resolve_system(config, "mine.json", {}).value();
  CHECK(own.accelerators == 2);
  CHECK_THAT(system_text(own), ContainsSubstring("accelerators  2 that share the memory"));
  CHECK(resolve_system(config_of(own), "the bundle", {})->accelerators == 2);
  SystemArguments arguments;
  arguments.accelerators = "1";
  const System one = resolve_system(config, "mine.json", arguments).value();
  CHECK(one.accelerators == 1);
  CHECK_FALSE(to_json(one).contains("accelerators"));
  CHECK(refuse_several(one, "it").ok());
  CHECK_THAT(to_string(refuse_several(own, "it").errors()),
             ContainsSubstring("mine.json asks for 2") && ContainsSubstring("--accelerators 1"));
  arguments.accelerators = "65";
  CHECK_THAT(why(config, arguments), ContainsSubstring("--accelerators"));
  CHECK_FALSE(arguments.check_engine("functional", true).ok());
}

TEST_CASE("clocks and memories that there are not, or that differ") {
  for (const char* wrong : {"0", "-1", "", "fast", "1000001", "0.5", "5 ", "nan", "inf"})
    CHECK_THAT(why({}, {.clock = wrong, .memory = {}}), ContainsSubstring("bad value of --clock") &&
                                                            ContainsSubstring("it is no number from 1 to 1000000") &&
                                                            ContainsSubstring("Hint: write MHz"));
  CHECK_THAT(why({}, {.clock = {}, .memory = "marble"}), ContainsSubstring("there is no memory model \"marble\""));
  CHECK_THAT(why({500, "marble"}, {}), ContainsSubstring("mine.json, \"system.memory\"") &&
                                           ContainsSubstring("there is no memory model \"marble\""));
  CHECK_THAT(why({500, "bank:hbm2,clock-ps=2000"}, {}),
             ContainsSubstring("leave out clock-ps: clock_mhz is the clock"));
  CHECK_THAT(why({}, {.clock = "100", .memory = "bank:hbm2,clock-ps=3003"}),
             ContainsSubstring("its clock-ps=3003 is a clock of 333 MHz, --clock asks for 100 MHz"));
}

TEST_CASE("an engine without a clock ignores neither") {
  const SystemArguments clock{.clock = "100", .memory = {}}, memory{.clock = {}, .memory = "ideal"};
  CHECK(clock.check_engine("functional", true).ok());  // estimates of the compiler count with it
  CHECK_THAT(to_string(clock.check_engine("functional", false).errors()),
             ContainsSubstring("engine functional has no clock. Hint: add --engine cycle"));
  CHECK_FALSE(memory.check_engine("functional", true).ok());
  CHECK(memory.check_engine("cycle", false).ok());
}
