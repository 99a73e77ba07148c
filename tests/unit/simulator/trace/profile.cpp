// The profile of a run: parts sum to the whole, for any program; the programs of a trace file are read back.
#include "simulator/trace/profile.h"

#include <algorithm>
#include <utility>

#include "isa/verify/token_machine.h"
#include "simulator/cycle/cycle.h"
#include "simulator/trace/traced_program.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::simulator {

namespace {

struct Ran {
  Trace trace;
  TracedProgram program;
  Counters counters;
};

// A random program in which every seventh instruction begins another of three layers.
Ran run(std::uint64_t seed, const std::string& memory) {
  const test::GeneratedProgram made = test::generate(test::random_config(seed), {.seed = seed});
  const auto simulator = make_cycle_timing(made.config, {.memory = parse_memory(memory).value(), .trace = true});
  Dram dram{made.dram_base, made.dram};
  Ran ran{.trace = {},
          .program = {.name = "p",
                      .config = made.config,
                      .program = made.program,
                      .launches = made.launches,
                      .what_if = {{"more", 7}},
                      .useful_macs = {{"a", 5}, {"b", 8}}},
          .counters = {}};
  ran.trace.sources = {"", "a", "b"};
  for (const isa::Launch& launch : made.launches) {
    const auto counters =
        simulator->launch(std::span(made.program).subspan(launch.begin, launch.count), dram, launch.begin);
    REQUIRE(counters.ok());
    ran.counters += *counters;
    ran.trace.launches.push_back(*simulator->timing());
    for (TraceEvent& event : ran.trace.launches.back().events)
      event.source = static_cast<std::uint32_t>(event.instruction / 7 % 3);
  }
  return ran;
}

}  // namespace

TEST_CASE("the parts of a profile sum to the run") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string memory = seed % 2 == 0 ? "bank:ddr4-2400" : "ideal";
    CAPTURE(seed, memory);
    const Ran ran = run(seed, memory);
    const Profile profile = simulator::profile(ran.trace, 0, ran.program, parse_memory(memory).value());
    CHECK(profile.whole.counters == ran.counters);
    std::uint64_t cycles = 0;
    for (const LaunchTrace& launch : ran.trace.launches) cycles += launch.cycles;
    CHECK(profile.whole.cycles == cycles);
    REQUIRE(profile.knows_waits);
    CHECK(profile.fetch.total() == cycles);
    Counters counters;
    std::array<MemorySplit, 3> waits;
    std::uint64_t read = 0;
    for (const ProfilePart& part : profile.layers) {
      counters += part.counters;
      read += part.bytes_read;
      for (std::size_t unit = 0; unit < 3; ++unit) waits[unit] += part.waits[unit];
      CHECK(part.cycles == part.units[isa::index(isa::Queue::compute)].total());
    }
    for (const isa::Queue unit : kUnits)
      CHECK(counters.port[isa::index(unit)].beats == ran.counters.port[isa::index(unit)].beats);
    CHECK(counters.fetch->beats >= ran.counters.fetch->beats);  // a wide beat has several instructions
    // Other accesses are known for launches, not for layers.
    Counters of_instructions = ran.counters;
    counters.sram = of_instructions.sram = {};
    counters.port = of_instructions.port = {};
    counters.fetch.reset();
    // A trace has no micro-ops, which say whether a step of WINDOW multiplies: each counts as one that does.
    of_instructions.macs +=
        of_instructions.window_pushes * static_cast<std::uint64_t>(ran.program.config.macs_per_uop());
    of_instructions.window_uops += std::exchange(of_instructions.window_pushes, 0);
    // Nor do they say whether the results of an epilogue are looked up.
    CHECK(counters.epilogue_uops >= of_instructions.epilogue_uops);
    of_instructions.epilogue_uops = counters.epilogue_uops;
    of_instructions.epilogue_lookups = 0;
    CHECK(counters == without_time(of_instructions));
    CHECK(read == profile.whole.bytes_read);
    CHECK(waits == profile.waits);
    for (std::size_t unit = 0; unit < 3; ++unit) {
      CHECK(profile.whole.units[unit].total() == cycles);
      CHECK(profile.waits[unit].total() == profile.classes[unit][static_cast<std::size_t>(UnitClass::memory)]);
      // A layer's waits for memory are part of its busy cycles.
      for (const ProfilePart& part : profile.layers) CHECK(part.waits[unit].total() <= part.units[unit].busy);
    }
    std::uint64_t by_kind = 0, by_layer = 0, of_kinds = 0;
    for (const KindTime& kind : profile.compute_kinds) {
      by_kind += kind.time.total();
      of_kinds += kind.instructions;
    }
    for (const ProfilePart& part : profile.layers) by_layer += part.cycles;
    CHECK(by_kind == by_layer);
    CHECK(of_kinds == ran.counters.queue_instructions[isa::index(isa::Queue::compute)]);
    CHECK(profile.whole.useful_macs == 13);
    for (const ProfilePart& part : profile.layers)
      CHECK(part.useful_macs == (part.name == "a" ? 5 : part.name == "b" ? 8 : 0));
    TracedProgram unknown = ran.program;
    unknown.useful_macs.clear();
    CHECK_FALSE(simulator::profile(ran.trace, 0, unknown, parse_memory(memory).value()).whole.useful_macs);
    // No program is faster than its bounds, or above the roof.
    CHECK(profile.whole.bounds.tightest() <= cycles);
    if (profile.whole.intensity() > 0)
      CHECK(profile.whole.macs_per_cycle() <=
            std::min(profile.peak_macs_per_cycle, profile.whole.intensity() * profile.peak_rate.each_way));
  }
}

TEST_CASE("the traffic of a launch is what its memory has moved") {
  const Ran ran = run(4, "ideal");
  std::uint64_t read = 0, written = 0;
  for (const LaunchTrace& launch : ran.trace.launches) {
    for (const std::uint64_t beats : launch.waits->traffic.read) read += beats;
    for (const std::uint64_t beats : launch.waits->traffic.written) written += beats;
  }
  const Profile profile = simulator::profile(ran.trace, 0, ran.program, IdealMemory{});
  // Whole beats, of which a row may need only a part.
  const auto bus = static_cast<std::uint64_t>(ran.program.config.bus_bytes);
  CHECK(read * bus >= profile.whole.bytes_read);
  CHECK(written * bus >= profile.whole.bytes_written);
  CHECK(read > 0);
}

TEST_CASE("a trace's programs are read back, and must be its own") {
  const Ran ran = run(3, "ideal");
  const Json json = to_json(std::vector{ran.program}).value();
  const auto read = traced_programs_from_json(json, ran.trace, "t.json");
  REQUIRE(read.ok());
  REQUIRE(read->size() == 1);
  CHECK(read->front().program == ran.program.program);
  CHECK(read->front().config == ran.program.config);
  CHECK(read->front().what_if == ran.program.what_if);
  CHECK(read->front().useful_macs == ran.program.useful_macs);
  CHECK(read->front().launches.size() == ran.program.launches.size());

  Trace other = ran.trace;
  other.launches.front().events.front().instruction += 1;
  const auto refused = traced_programs_from_json(json, other, "t.json");
  REQUIRE_FALSE(refused.ok());
  CHECK(to_string(refused.errors()) ==
        "error: cannot read the programs of the trace (t.json, program 0): event 0 of launch 0 is of instruction 1, "
        "not 0. Hint: write the trace again with --trace");
}

}  // namespace dovetail::simulator
