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
}

TEST_CASE("bounds: reads and writes of a DRAM share its rate, those of the port and of `ideal` do not") {
  // DDR4-2400: 64 bytes in 4 clocks of 833 ps, 38.4154 bytes in a cycle of 2000 ps.
  const MemorySpec ddr4 = parse_memory("bank:ddr4-2400").value();
  const double rate = 16 * 2000 / 833.0;
  // A port of 8 bytes: 8 each way, 16 together, less than the DRAM has.
  CHECK(peak_rate(ddr4, 8).each_way == 8);
  CHECK(peak_rate(ddr4, 8).both_ways == 16);
  CHECK(to_string(peak_rate(ddr4, 8), 1, "bytes") == "8.00 bytes each way");
  // A port of 32 bytes: 32 each way, 38.4154 together.
  CHECK(peak_rate(ddr4, 32).each_way == 32);
  CHECK(peak_rate(ddr4, 32).both_ways == Approx(rate));
  CHECK(to_string(peak_rate(ddr4, 32), 1, "bytes") == "32.00 bytes each way, 38.42 together");
  // A port of 64 bytes: the DRAM is the limit of each way and of both.
  CHECK(peak_rate(ddr4, 64).each_way == Approx(rate));
  CHECK(to_string(peak_rate(ddr4, 64), 2, "GB/s") == "76.83 GB/s, shared by reads and writes");

  // 32,000 bytes read and 16,000 written. By a port of 32 bytes: 1000 and 500 cycles; the DRAM moves the 48,000 in
  // 48,000 / 38.4154 = 1249.5 cycles, so 1250 is the bound.
  isa::HardwareConfig config;
  config.bus_bytes = 32;
  Counters counters;
  counters.bytes_loaded[2] = 32000;
  counters.bytes_stored = 16000;
  const Bounds shared = bounds_of(config, ddr4, counters);
  CHECK(shared.dram_read == 1000);
  CHECK(shared.dram_write == 500);
  CHECK(shared.dram == 1250);
  CHECK(shared.tightest() == 1250);
  CHECK(shared.tightest_name() == "DRAM read and write");
  // With `ideal` the directions overlap: the longer one counts.
  const Bounds separate = bounds_of(config, IdealMemory{}, counters);
  CHECK(separate.dram == 1000);
  CHECK(separate.tightest_name() == "DRAM read");
  // The roofline charges what takes as long in one direction: 48,000 * 32 / 38.4154 = 39,984 bytes.
  CHECK(peak_rate(ddr4, 32).charged(32000, 16000) == Approx(48000 * 32 / rate));
  CHECK(peak_rate(IdealMemory{}, 32).charged(32000, 16000) == 32000);
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
