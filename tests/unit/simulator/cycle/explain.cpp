// Bounds, and answers of what_if.
#include "simulator/cycle/bounds.h"
#include "simulator/cycle/cycle.h"
#include "simulator/cycle/what_if.h"
#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator {

using namespace testing;

TEST_CASE("bounds: steps, and bytes at the rate of port or memory") {
  const isa::HardwareConfig config;
  Counters counters;
  counters.gemm_uops = 100;
  counters.gemm_reset_uops = 20;
  counters.alu_uops = 30;
  counters.bytes_loaded[2] = 8000;
  counters.instructions[0] = 10;
  counters.bytes_stored = 4000;
  const Bounds bounds = bounds_of(config, IdealMemory{.bytes_per_cycle = 4}, counters);
  CHECK(bounds.compute() == 150);
  CHECK(bounds.dram_read == (8000 + 160) / 4);
  CHECK(bounds.dram_write == 1000);
  CHECK(bounds.tightest() == 2040);
  CHECK(bounds.tightest_name() == "DRAM read");
  CHECK(bounds_of(config, IdealMemory{}, counters).dram_read == 1020);
  // 64 bytes in 4 clocks of 833 ps: 38 bytes in a cycle of 2000 ps, more than the port.
  CHECK(peak_bytes_per_cycle(parse_memory("bank:ddr4-2400").value(), 8) == 8);
  CHECK(peak_bytes_per_cycle(parse_memory("bank:ddr4-2400").value(), 64) == Approx(16 * 2000 / 833.0));
}

TEST_CASE("what_if times the same instructions on other hardware") {
  const isa::HardwareConfig config;
  Dram dram = image(config, {{0, 0, 0}}, 1 << 16);
  const std::vector program{load(isa::Memory::inp, 0, kDramBase / 16 + 64, 100, kPushNext),
                            nop(isa::Queue::compute, kPopPrev)};
  const std::vector launches{isa::Launch{.begin = 0, .count = 2}};
  const auto simulator = make_cycle_timing(config);
  REQUIRE(simulator->launch(program, dram).ok());
  const std::uint64_t cycles = simulator->timing()->cycles;
  const auto answers = what_if(config, {}, program, launches, dram).value();
  REQUIRE(answers.size() == 8);
  CHECK(answers[0].change == "memory without latency, 8 bytes per cycle each way");
  // The 200 beats stay, two latencies of 64 are removed (fetch, and the first burst).
  CHECK(answers[0].cycles == cycles - 2 * 63);
  CHECK(answers[1].cycles < cycles);
  CHECK(answers[2].cycles < answers[0].cycles);
  // The latency stays, the width is larger: more cycles than without either limit.
  CHECK(answers[3].change == "memory of latency 64, 128 bytes per cycle each way");
  CHECK(answers[3].cycles > answers[2].cycles);
  CHECK(answers[3].cycles < cycles);
  CHECK(answers[4].cycles == cycles);
  // The NOP no longer waits for the load; the load's time stays.
  CHECK(answers[7].change == "no instruction waiting for a token (values would be wrong)");
  CHECK(answers[7].cycles == cycles - 2);
  // Changes that the machine already has are left out.
  CHECK(what_if(config, {.memory = IdealMemory{.latency = 1, .outstanding = 65536}}, program, launches, dram)
            .value()
            .size() == 7);
}

}  // namespace dovetail::simulator
