// Random integer networks that several accelerators divide: bit for bit the reference's values, whether the launches
// run together or one after the other. Compiling proves that launches of one group do not conflict (isa/verify).
#include <fmt/format.h>

#include "compiler/pipeline.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/host/target.h"
#include "isa/system.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/tier.h"

using namespace dovetail;
using dovetail::test::RandomInt8Graph;

namespace {

struct Seen {
  int launches = 0, together = 0, of_others = 0;
};

void check(const isa::HardwareConfig& config, const RandomInt8Graph& random, std::uint64_t seed,
           const accel::Division& division, Seen& seen) {
  INFO("seed " << seed << " on " << division.accelerators << " of "
               << name_of(isa::AcceleratorConfigs(config, division.others)) << "\n"
               << graph::to_string(random.graph));
  CompileOptions options;
  options.available = {accel::make_target(config, 1000, nullptr, {}, division), host::make_target()};
  options.targets = {"accel"};
  const auto compiled = compile({random.graph, {}}, options);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  const auto steps = bundle::accel_steps(compiled->bundle);
  REQUIRE(steps.ok());
  for (const auto& step : *steps)
    for (const isa::Launch& launch : step.code.launches) {
      ++seen.launches;
      seen.together += launch.together;
      seen.of_others += launch.accelerator > 0;
    }
  const auto [inputs, expected] = test::expected_values(random, seed);
  for (const char* engine : {"functional", "cycle"}) {
    INFO(engine);
    const simulator::EngineOptions together{.accelerators = division.accelerators, .by_launch = true};
    auto executor = runtime::Executor::make(compiled->bundle, *runtime::simulator_factory(engine, together));
    REQUIRE(executor.ok());
    const auto result = executor->run(inputs);
    INFO((result.ok() ? "" : to_string(result.errors())));
    REQUIRE(result.ok());
    for (const auto& [name, array] : result->outputs) CHECK((array == expected.at(name)));
  }
}

}  // namespace

TEST_CASE("random networks divided between accelerators equal the reference") {
  Seen seen;
  for (const char* hardware : {"1x16x16-g3", "1x16x16", "1x32x16", "1x8x8", "4x8x8"}) {
    const isa::HardwareConfig config = *isa::load_config(hardware);
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      if (!test::is_judged(fmt::format("divided {} {}", hardware, seed), 4)) continue;
      RandomInt8Graph random(seed, !config.requant && seed % 2 == 0);
      random.build(static_cast<int>(2 + seed % 5));
      accel::Division division{static_cast<std::int64_t>(2 + seed % 4), isa::Split::layers};
      // What groups cost decides which layers are divided, and how: nothing, or, for many changes of the axis, less.
      division.cycles_between_groups = seed % 3 == 0 ? -1e6 : 0.0;
      check(config, random, seed, division, seen);
    }
  }
  CHECK(seen.together > seen.launches / 4);
}

TEST_CASE("random networks divided between accelerators that differ equal the reference") {
  Seen seen;
  for (const char* hardware :
       {"1x16x16-g3+1x16x16-g2", "1x32x32+1x16x16-ext,bus_bytes=16", "1x16x16-ext+1x8x8", "1x8x8+1x16x16-ext",
        "1x16x16+1x32x16+1x8x8,requant=true", "1x16x16-g3+2*1x8x8,bus_bytes=16", "4x8x8+4x8x8,requant=true"}) {
    const isa::Machine machine = *isa::load_machine(std::string(hardware) + ",split=layers");
    bool requant = true;
    for (std::size_t i = 0; i < machine.configs().size(); ++i) requant &= machine.configs()[i].requant;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      if (!test::is_judged(fmt::format("divided {} {}", hardware, seed), 4)) continue;
      RandomInt8Graph random(seed, !requant && seed % 2 == 0);
      random.build(static_cast<int>(2 + seed % 5));
      accel::Division division{machine.system.accelerators, isa::Split::layers};
      division.others = machine.system.others;
      division.cycles_between_groups = seed % 3 == 0 ? -1e6 : 0.0;
      check(machine.hardware, random, seed, division, seen);
    }
  }
  CHECK(seen.of_others > seen.launches / 5);
  CHECK(seen.together > 0);
}
