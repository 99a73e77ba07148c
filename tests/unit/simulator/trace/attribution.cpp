#include "simulator/trace/attribution.h"

#include <array>

#include "isa/verify/token_machine.h"
#include "simulator/cycle/cycle.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::simulator {

using isa::Queue;

TEST_CASE("an instruction is given the cycles after its predecessor's end") {
  Trace trace;
  trace.sources = {"", "first", "second"};
  trace.launches.push_back({.cycles = 30,
                            .events = {{.instruction = 0,
                                        .unit = Queue::compute,
                                        .issue = 2,
                                        .start = 5,
                                        .end = 9,
                                        .cause = StallCause::token_prev,
                                        .source = 1},
                                       // In flight together with the previous one.
                                       {.instruction = 1,
                                        .unit = Queue::compute,
                                        .issue = 3,
                                        .start = 7,
                                        .end = 14,
                                        .cause = StallCause::unit,
                                        .source = 2},
                                       {.instruction = 2,
                                        .unit = Queue::compute,
                                        .issue = 4,
                                        .start = 18,
                                        .end = 19,
                                        .cause = StallCause::token_next,
                                        .source = 2}}});
  const auto times = attribute(trace);
  REQUIRE(times.size() == 4);
  const auto compute = [&](std::size_t source) { return times[source][isa::index(Queue::compute)]; };
  CHECK(compute(1).busy == 5);
  CHECK(compute(1).waiting == std::array<std::uint64_t, 6>{0, 0, 0, 0, 5, 0});
  CHECK(compute(2).busy == 5 + 2);
  CHECK(compute(2).waiting == std::array<std::uint64_t, 6>{0, 0, 0, 0, 0, 3});
  CHECK(compute(3).waiting[static_cast<std::size_t>(StallCause::fetch)] == 10);
  CHECK(times[3][isa::index(Queue::load)].total() == 30);
}

TEST_CASE("attributed cycles sum to those of the launches, for each unit") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const test::GeneratedProgram program = test::generate(test::random_config(seed), {.seed = seed});
    const auto simulator = make_cycle_timing(program.config, {.trace = true});
    Dram dram{program.dram_base, program.dram};
    Trace trace;
    std::uint64_t cycles = 0;
    for (const isa::Launch& launch : program.launches) {
      REQUIRE(
          simulator->launch(std::span(program.program).subspan(launch.begin, launch.count), dram, launch.begin).ok());
      trace.launches.push_back(*simulator->timing());
      cycles += simulator->timing()->cycles;
    }
    for (std::size_t unit = 0; unit < 3; ++unit) {
      std::uint64_t sum = 0;
      for (const auto& row : attribute(trace)) sum += row[unit].total();
      CHECK(sum == cycles);
    }
  }
}

}  // namespace dovetail::simulator
