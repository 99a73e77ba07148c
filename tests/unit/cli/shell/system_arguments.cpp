#include "cli/shell/system_arguments.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("clocks and numbers of accelerators are numbers in their range") {
  const SystemArguments given{.clock = "333", .memory = "bank:hbm2", .accelerators = "4"};
  const driver::SystemChanges changes = given.parse().value();
  CHECK(changes.clock_mhz == 333);
  CHECK(changes.memory == "bank:hbm2");
  CHECK(changes.accelerators == 4);
  for (const char* wrong : {"0", "-1", "", "fast", "1000001", "0.5", "5 ", "nan", "inf"})
    CHECK_THAT(to_string(SystemArguments{.clock = wrong, .memory = {}}.parse().errors()),
               ContainsSubstring("invalid value for --clock") &&
                   ContainsSubstring("the clock must be a number from 1 to 1000000") &&
                   ContainsSubstring("Hint: write MHz"));
  CHECK_THAT(to_string(SystemArguments{.clock = {}, .memory = {}, .accelerators = "65"}.parse().errors()),
             ContainsSubstring("--accelerators"));
}

TEST_CASE("an engine without a clock refuses --clock, --memory and --accelerators") {
  const SystemArguments clock{.clock = "100", .memory = {}}, memory{.clock = {}, .memory = "ideal"};
  CHECK(clock.check_engine("functional", true).ok());  // the compiler's estimates use it
  CHECK_THAT(to_string(clock.check_engine("functional", false).errors()),
             ContainsSubstring("engine functional has no clock. Hint: add --engine cycle"));
  CHECK_FALSE(memory.check_engine("functional", true).ok());
  CHECK(memory.check_engine("cycle", false).ok());
  const SystemArguments several{.clock = {}, .memory = {}, .accelerators = "2"};
  CHECK_FALSE(several.check_engine("functional", true).ok());
}
