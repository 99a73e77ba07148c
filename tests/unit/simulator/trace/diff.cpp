#include "simulator/trace/diff.h"

#include "tests/catch.h"

namespace dovetail::simulator {

using Catch::Matchers::ContainsSubstring;
using isa::Queue;

namespace {

Trace sample_to_compare() {
  Trace trace;
  trace.sources = {"", "conv1"};
  trace.launches.push_back({.cycles = 50,
                            .events = {{.instruction = 0,
                                        .unit = Queue::load,
                                        .issue = 1,
                                        .start = 2,
                                        .end = 20,
                                        .cause = StallCause::fetch,
                                        .source = 1},
                                       {.instruction = 1,
                                        .unit = Queue::compute,
                                        .issue = 3,
                                        .start = 21,
                                        .end = 40,
                                        .cause = StallCause::token_prev,
                                        .source = 1},
                                       {.instruction = 2,
                                        .unit = Queue::store,
                                        .issue = 5,
                                        .start = 41,
                                        .end = 49,
                                        .cause = StallCause::token_prev,
                                        .source = 1}}});
  return trace;
}

}  // namespace

TEST_CASE("equal traces do not differ") {
  CHECK_FALSE(first_difference(sample_to_compare(), sample_to_compare()).has_value());
}

TEST_CASE("the first difference is the first in time, not in the program") {
  const Trace a = sample_to_compare();
  Trace b = a;
  b.launches[0].events[0].end = 22;   // seen in cycle 20
  b.launches[0].events[1].issue = 4;  // seen in cycle 3
  b.launches[0].events[2].start = 43;
  const auto difference = first_difference(a, b);
  REQUIRE(difference.has_value());
  CHECK(difference->launch == 0);
  CHECK(difference->event == 1);
  CHECK(difference->what == "issue 3, not 4");
}

TEST_CASE("cycles, classes, causes and launches are compared too") {
  const Trace a = sample_to_compare();
  Trace b = a;
  b.launches[0].cycles = 51;
  CHECK(first_difference(a, b)->what == "cycles 50, not 51");
  b = a;
  b.launches[0].classes[0][0] = 7;
  CHECK(first_difference(a, b)->what == "load cycles of work 0, not 7");
  b = a;
  b.launches[0].events[2].cause = StallCause::unit;
  CHECK(first_difference(a, b)->what == "cause token_prev, not unit");
  b = a;
  b.launches.push_back({});
  CHECK(first_difference(a, b)->what == "launches 1, not 2");
}

TEST_CASE("the neighborhood marks the instruction and names its node") {
  const Trace a = sample_to_compare();
  const std::string text = neighborhood(a, {.launch = 0, .event = 1, .what = ""}, 1);
  CHECK_THAT(text, ContainsSubstring(">        1 compute") && ContainsSubstring("         0 load") &&
                       ContainsSubstring("conv1"));
}

TEST_CASE("traces with equal times may differ in addresses") {
  const Trace trace = sample_to_compare();
  std::vector<TracedProgram> programs(1);
  programs[0].program = {{{}, isa::Load{{.memory = isa::Memory::inp, .y_size = 1, .x_size = 1, .x_stride = 1}}},
                         {{}, isa::Gemm{{{0, 1, 1, 1}}}},
                         {{}, isa::Store{{.memory = isa::Memory::out, .y_size = 1, .x_size = 1, .x_stride = 1}}}};
  programs[0].launches = {{0, 3}};
  auto others = programs;
  CHECK_FALSE(first_other_instruction(trace, programs, trace, others));
  std::get<isa::Store>(others[0].program[2].body).dram_base = 64;
  const auto difference = first_other_instruction(trace, programs, trace, others);
  REQUIRE(difference);
  CHECK(*difference->event == 2);
  CHECK_THAT(difference->what, ContainsSubstring("dram=0x0 ") && ContainsSubstring("not `store.out sram=0 dram=0x40"));
  CHECK_FALSE(first_difference(trace, trace));
}

}  // namespace dovetail::simulator
