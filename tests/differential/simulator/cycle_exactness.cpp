// For every instruction, the event-driven simulator gives the same cycles as docs/reference/timing.md evaluated cycle
// by cycle.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "isa/verify/token_machine.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "tests/catch.h"
#include "tests/differential/simulator/per_cycle/per_cycle.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"
#include "tests/tier.h"
#include "tests/torture/counter_laws.h"

namespace dovetail::simulator {

namespace {

std::string describe(const TraceEvent& event) {
  return fmt::format("instruction {}: {} issue {}, start {} ({}), end {}", event.instruction, isa::name(event.unit),
                     event.issue, event.start, kStallCauseNames[static_cast<std::size_t>(event.cause)], event.end);
}

// Describes the difference; empty: none.
std::string difference(const LaunchTrace& expected, const LaunchTrace& actual) {
  if (expected.events.size() != actual.events.size())
    return fmt::format("{} events, not {}", actual.events.size(), expected.events.size());
  for (std::size_t i = 0; i < expected.events.size(); ++i)
    if (expected.events[i] != actual.events[i])
      return fmt::format("expected {}\nbut got  {}", describe(expected.events[i]), describe(actual.events[i]));
  if (expected.cycles != actual.cycles)
    return fmt::format("expected {} cycles, but got {}", expected.cycles, actual.cycles);
  for (const isa::Queue unit : {isa::Queue::load, isa::Queue::compute, isa::Queue::store})
    for (std::size_t c = 0; c < kUnitClassNames.size(); ++c)
      if (const auto e = expected.classes[isa::index(unit)][c], a = actual.classes[isa::index(unit)][c]; e != a)
        return fmt::format("expected {} cycles of {} in {}, but got {}", e, kUnitClassNames[c], isa::name(unit), a);
  if (!actual.waits) return "the waits for memory are not reported";
  const auto names = [](const MemorySplit& split) {
    std::string text;
    for (std::size_t c = 0; c < split.cycles.size(); ++c)
      text += fmt::format(" {} {}", kMemoryCauseNames[c], split.cycles[c]);
    return text;
  };
  for (std::size_t i = 0; i < expected.events.size(); ++i)
    if (expected.waits->instructions[i] != actual.waits->instructions[i])
      return fmt::format("instruction {} waits for memory:{}, not{}", expected.events[i].instruction,
                         names(expected.waits->instructions[i]), names(actual.waits->instructions[i]));
  for (std::size_t unit = 0; unit < 3; ++unit) {
    MemorySplit sum;
    for (std::size_t i = 0; i < actual.events.size(); ++i)
      if (isa::index(actual.events[i].unit) == unit) sum += actual.waits->instructions[i];
    if (sum != actual.waits->units[unit]) return fmt::format("instructions of unit {} do not sum to it", unit);
    if (sum.total() != actual.classes[unit][static_cast<std::size_t>(UnitClass::memory)])
      return fmt::format("unit {}: {} cycles of memory are divided, of {}", unit, sum.total(),
                         actual.classes[unit][static_cast<std::size_t>(UnitClass::memory)]);
  }
  const FetchTime &e = expected.waits->fetch, &a = actual.waits->fetch;
  if (a.total() != actual.cycles)
    return fmt::format("what fetch did sums to {} of {} cycles", a.total(), actual.cycles);
  if (e != a)
    return fmt::format("fetch: {} slots, {} done, queues full {} {} {},{}; not {}, {}, {} {} {},{}", e.issue, e.done,
                       e.queue_full[0], e.queue_full[1], e.queue_full[2], names(e.memory), a.issue, a.done,
                       a.queue_full[0], a.queue_full[1], a.queue_full[2], names(a.memory));
  return {};
}

// The memory must have seen the bursts and beats that the units count.
std::string traffic_difference(const MemoryStatistics& after, const MemoryStatistics& before,
                               const isa::HardwareConfig& config, const Counters& counters) {
  const auto bus = static_cast<std::uint64_t>(config.bus_bytes);
  const auto& [load, compute, store] = counters.port;
  const PortEvents& fetch = counters.fetch.value();
  const std::array seen{after.read_bursts - before.read_bursts, (after.read_bytes - before.read_bytes) / bus,
                        after.write_bursts - before.write_bursts, (after.write_bytes - before.write_bytes) / bus};
  const std::array counted{load.bursts + compute.bursts + fetch.bursts, load.beats + compute.beats + fetch.beats,
                           store.bursts, store.beats};
  if (seen == counted) return {};
  return fmt::format("the memory has seen {} of bursts and beats read, and written; counted are {}", seen, counted);
}

// Runs both; the DRAM after the event-driven run must equal the functional simulator's.
std::string compare(const test::GeneratedProgram& program, const std::string& memory_text) {
  const MemorySpec spec = parse_memory(memory_text).value();
  const auto cycle = make_cycle(program.config, {.memory = spec, .trace = true});
  const auto timing = make_cycle_timing(program.config, {.memory = spec, .trace = true});
  const auto functional = make_functional(program.config);
  const auto memory = make_memory(spec, program.config.bus_bytes);
  Dram dram{program.dram_base, program.dram}, same = dram;
  std::vector<isa::Uop> uops(static_cast<std::size_t>(program.config.depth(isa::Memory::uop)));
  for (const isa::Launch& launch : program.launches) {
    const auto instructions = std::span(program.program).subspan(launch.begin, launch.count);
    const std::uint64_t size = static_cast<std::uint64_t>(program.config.instruction_bytes());
    const std::uint64_t place =
        program_place(program.config, dram.base, dram.bytes.size(), (launch.begin + launch.count) * size).value();
    const MemoryStatistics before = memory->statistics();
    const LaunchTrace expected = test::run_per_cycle(program.config, *memory, instructions, launch.begin,
                                                     place + launch.begin * size, {dram.base, dram.bytes}, uops);
    Dram untouched = dram;
    const auto time_alone = timing->launch(instructions, untouched, launch.begin);
    if (!time_alone.ok()) return to_string(time_alone.errors());
    if (untouched.bytes != dram.bytes) return "time alone has written to DRAM";
    const auto counters = cycle->launch(instructions, dram, launch.begin);
    if (!counters.ok()) return to_string(counters.errors());
    if (std::string text = difference(expected, *cycle->timing()); !text.empty()) return text;
    if (*cycle->timing() != *timing->timing()) return "time alone differs from time with values";
    const Counters functional_counters = functional->launch(instructions, same, launch.begin).value();
    if (without_time(*counters) != functional_counters)
      return "the functional simulator counts otherwise: " + difference(*counters, functional_counters);
    if (*time_alone != *counters) return "time alone counts otherwise: " + difference(*counters, *time_alone);
    if (auto text = traffic_difference(memory->statistics(), before, program.config, *counters); !text.empty())
      return text;
    if (memory->finish(expected.cycles) != counters->dram) return "the DRAM's commands differ";
    if (auto broken = test::broken_law(program.config, spec, *counters, expected.cycles)) return *broken;
    if (same.bytes != dram.bytes) return "DRAM differs";
  }
  return {};
}

void check(const test::GeneratedProgram& program, const std::string& memory) {
  if (compare(program, memory).empty()) {
    SUCCEED();
    return;
  }
  const test::GeneratedProgram small = test::shrink(program, [&](const test::GeneratedProgram& p) {
    const isa::VerifyReport report = isa::verify(p.config, p.program, p.verify_options());
    return report.clean() && !compare(p, memory).empty();
  });
  FAIL(memory << "\n" << compare(small, memory) << "\n" << program.config.name << ", " << test::describe(small));
}

std::vector<std::string> memories(std::uint64_t seed) {
  return {"ideal",
          "ideal:latency=1,outstanding=2",
          "ideal:latency=200,bytes=2,outstanding=3",
          "bank:ddr4-2400",
          "bank:lpddr4,clock-ps=1000",
          "bank:hbm2,controller=0,outstanding=4",
          fmt::format("perturbed:seed={}", seed),
          fmt::format("perturbed:seed={},latency=7,refusal=40,base-latency=3,outstanding=5", seed)};
}

}  // namespace

TEST_CASE("every instruction of random programs has the cycles of the timing page, in random configurations") {
  for (std::uint64_t seed = 1; seed <= test::scaled(50); ++seed) {
    if (!test::judges_everything() && seed % 4 != 0) continue;
    isa::HardwareConfig config = test::random_config(seed);
    test::Random random(seed);
    config.burst_beats = random.pick({1, 2, 3, 5, 7, 32, 256});
    config.outstanding_beats = random.pick({1, 2, 3, 8, 33, 128});
    const test::GeneratedProgram program = test::generate(config, {.seed = seed});
    const auto all = memories(seed);
    check(program, all[seed % all.size()]);
    check(program, all[(seed / all.size() + 3) % all.size()]);
  }
}

TEST_CASE("every instruction of random programs has the cycles of the timing page, in the named configurations") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    for (std::uint64_t seed = 1; seed <= test::scaled(3); ++seed) {
      const test::GeneratedProgram program = test::generate(config, {.seed = seed, .size = 150});
      for (const std::string& memory : memories(seed)) check(program, memory);
    }
  }
}

}  // namespace dovetail::simulator
