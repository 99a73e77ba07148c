// The SystemC platform has the cycles, traces, values and refusals of the engine `cycle`.
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "runtime/executor.h"
#include "simulator/cycle/cycle.h"
#include "simulator/memory/dram_presets.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace dovetail::simulator {

namespace {

// A DRAM file that differs from every preset; its path.
std::string own_dram(const test::TemporaryFolder& folder) {
  Json json = parse_json(dram_presets()[0].text, "ddr4-2400").value();
  json["name"] = "own", json["channels"] = 2, json["ranks"] = 2, json["clock_mhz"] = 933;
  json["timing"]["tRCD"] = {{"ns", 21.5}};
  const std::string path = folder / "own.json";
  REQUIRE(write_text_file(path, json.dump()).ok());
  return path;
}

}  // namespace

TEST_CASE("random programs have the same cycles, events and values on the SystemC platform") {
  if (!find_systemc_engine()) {
    test::skip("this build found no SystemC (libsystemc-dev)");
    return;
  }
  const test::TemporaryFolder folder;
  const std::string own = "bank:" + own_dram(folder);
  for (std::uint64_t seed = 1; seed <= test::scaled(30); ++seed) {
    const test::GeneratedProgram program = test::generate(test::random_config(seed), {.seed = seed});
    for (const std::string& memory :
         {std::string("ideal"), std::string("bank:ddr4-2400"), std::string("perturbed:seed=3"),
          std::string("ideal:latency=9,bytes=2.7"), std::string("bank:ddr5-4800"), own}) {
      const EngineOptions options{.memory = parse_memory(memory).value(), .trace = true};
      const auto cycle = make_cycle(program.config, options);
      auto systemc = make_systemc(program.config, options);
      INFO("seed " << seed << ", " << memory << (systemc.ok() ? "" : to_string(systemc.errors())));
      REQUIRE(systemc.ok());
      Dram expected{program.dram_base, program.dram}, actual = expected;
      for (const isa::Launch& launch : program.launches) {
        const auto instructions = std::span(program.program).subspan(launch.begin, launch.count);
        const auto counters = cycle->launch(instructions, expected, launch.begin),
                   same = (*systemc)->launch(instructions, actual, launch.begin);
        REQUIRE(counters.ok());
        INFO((same.ok() ? "" : to_string(same.errors())));
        REQUIRE(same.ok());
        CHECK(*counters == *same);
        CHECK((*cycle->timing() == *(*systemc)->timing()));
        CHECK((expected.bytes == actual.bytes));
      }
    }
  }
}

TEST_CASE("random programs on several accelerators have the same cycles, events and values on the SystemC platform") {
  if (!find_systemc_engine()) {
    test::skip("this build found no SystemC (libsystemc-dev)");
    return;
  }
  for (std::uint64_t seed = 1; seed <= test::scaled(12); ++seed) {
    const test::GeneratedProgram program = test::generate(test::random_config(seed), {.seed = seed});
    for (const std::string memory : {"ideal", "ideal:latency=9,outstanding=1", "ideal:bytes=5.3", "ideal:ports=2",
                                     "bank:ddr4-2400", "bank:lpddr4", "bank:hbm3", "bank:hbm3,ports=3"})
      for (const std::int64_t accelerators : {2, 3, 5}) {
        EngineOptions options{.memory = parse_memory(memory).value(), .trace = true};
        const auto alone = make_cycle(program.config, options);
        options.accelerators = accelerators;
        const auto cycle = make_cycle(program.config, options), timing = make_cycle_timing(program.config, options);
        auto systemc = make_systemc(program.config, options);
        INFO("seed " << seed << ", " << memory << ", " << accelerators << " accelerators");
        REQUIRE(systemc.ok());
        Dram one{program.dram_base, program.dram}, expected = one, actual = one, untouched = one;
        for (const isa::Launch& launch : program.launches) {
          const auto instructions = std::span(program.program).subspan(launch.begin, launch.count);
          const auto counters = cycle->launch(instructions, expected, launch.begin),
                     same = (*systemc)->launch(instructions, actual, launch.begin),
                     own = alone->launch(instructions, one, launch.begin);
          REQUIRE(counters.ok());
          INFO((same.ok() ? "" : to_string(same.errors())));
          REQUIRE(same.ok());
          REQUIRE(own.ok());
          CHECK(*counters == *same);
          CHECK((*cycle->timing() == *(*systemc)->timing()));
          CHECK((expected.bytes == actual.bytes));
          // Accelerators that share a memory compute the same values, and no command of the DRAM is lost.
          CHECK((expected.bytes == one.bytes));
          CHECK(without_time(*counters) == without_time(*own));
          if (own->dram)
            CHECK((*counters->dram)[DramCommand::Kind::read] ==
                  static_cast<std::uint64_t>(accelerators) * (*own->dram)[DramCommand::Kind::read]);
          REQUIRE(timing->launch(instructions, untouched, launch.begin).ok());
          CHECK(timing->timing()->cycles == cycle->timing()->cycles);
        }
      }
  }
}

TEST_CASE("the SystemC platform refuses what the cycle engine refuses, in the same words") {
  if (!find_systemc_engine()) {
    test::skip("this build found no SystemC (libsystemc-dev)");
    return;
  }
  isa::Instruction waits{{.pop_prev = true}, isa::Finish{}},
      far{{}, isa::Load{{.memory = isa::Memory::inp, .dram_base = 1 << 20, .y_size = 1, .x_size = 1}}};
  for (const isa::Instruction& instruction : {waits, far}) {
    Dram dram{0, std::vector<std::byte>(4096)};
    const auto cycle = make_cycle(isa::HardwareConfig{}, {.trace = true});
    const auto expected = cycle->launch({&instruction, 1}, dram);
    const auto systemc = make_systemc(isa::HardwareConfig{}, {.trace = true}).value();
    const auto actual = systemc->launch({&instruction, 1}, dram);
    REQUIRE_FALSE(expected.ok());
    REQUIRE_FALSE(actual.ok());
    CHECK(to_string(actual.errors()) == to_string(expected.errors()));
    const LaunchTrace* timing = systemc->timing();
    REQUIRE((timing == nullptr) == (cycle->timing() == nullptr));
    if (timing != nullptr) CHECK(timing->events == cycle->timing()->events);
  }
}

}  // namespace dovetail::simulator
