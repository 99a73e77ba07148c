// The causes that memories report for a burst's delay: each cause separately, and the sum.
#include "simulator/memory/memory.h"
#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::simulator {

namespace {

constexpr std::int64_t kExplainedBus = 8;

MemorySplit split(std::uint64_t latency, std::uint64_t bandwidth, std::uint64_t row_miss = 0,
                  std::uint64_t refresh = 0) {
  MemorySplit split;
  split[MemoryCause::latency] = latency;
  split[MemoryCause::bandwidth] = bandwidth;
  split[MemoryCause::row_miss] = row_miss;
  split[MemoryCause::refresh] = refresh;
  return split;
}

// The delay of an accepted burst, by cause.
MemorySplit read(Memory& memory, Cycle cycle, std::uint64_t address, std::uint32_t beats) {
  const Answer answer = memory.accept(cycle, Direction::read, address, beats);
  REQUIRE(answer.accepted);
  CHECK(memory.explain(Direction::read).total() == answer.cycle - cycle);
  return memory.explain(Direction::read);
}

}  // namespace

TEST_CASE("the ideal memory's delay is its latency, and the time of earlier bytes") {
  const auto memory = make_memory(IdealMemory{.latency = 10}, kExplainedBus);
  CHECK(read(*memory, 5, 0, 4) == split(10, 0));
  CHECK(read(*memory, 6, 64, 4) == split(10, 3));
  const auto narrow = make_memory(IdealMemory{.latency = 10, .bytes_per_cycle = 4}, kExplainedBus);
  // At 4 bytes per cycle the burst's bytes take 8 cycles, 4 more than the port needs.
  CHECK(read(*narrow, 0, 0, 4) == split(10, 4));
  REQUIRE(memory->accept(5, Direction::write, 0, 4).accepted);
  CHECK(memory->explain(Direction::write) == split(10, 4));
}

TEST_CASE("a DRAM's delay: an open row, a closed one, another row, refresh, and the bus") {
  const BankMemory spec{.standard = dram_standards()[0], .clock_ps = 833, .controller_cycles = 3};
  const auto memory = make_memory(spec, kExplainedBus);
  const std::uint64_t row = 64 * 4 * 128 * 4;  // the next row of the same bank: access, bank group, column, bank
  const std::uint64_t idle = 3 + 17 + 4 + 3;   // controller, tCL, the data, controller
  CHECK(read(*memory, 0, 0, 8) == split(idle, 0, 17));  // tRCD
  CHECK(read(*memory, 1000, 0, 8) == split(idle, 0));
  CHECK(read(*memory, 2000, row, 8) == split(idle, 0, 17 + 17));  // tRP, tRCD
  // The first access of a burst waits for the previous one: tCCD_L within a bank group.
  CHECK(read(*memory, 3000, row, 8) == split(idle, 0));
  CHECK(read(*memory, 3001, row, 8) == split(idle, 7));  // beats 1 to 8 of the previous burst are in flight
  // Refresh at 9360: tRP after it, tRFC, then the row is opened.
  CHECK(read(*memory, 9360, row, 8) == split(idle, 0, 17, 17 + 420 - 3));
}

TEST_CASE("the causes of a delay sum to it, after any traffic") {
  for (const char* text : {"ideal:latency=7,bytes=3", "bank:ddr4-2400", "bank:lpddr4,clock-ps=700",
                           "bank:hbm2,controller=0", "perturbed:seed=9"})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(text, seed);
      const auto memory = make_memory(parse_memory(text).value(), kExplainedBus);
      test::Random random(seed);
      Cycle cycle = 0;
      MemorySplit sum;
      for (int i = 0; i < 2000; ++i) {
        cycle += random.below(random.chance(90) ? 8 : 9000);
        const auto direction = random.chance(60) ? Direction::read : Direction::write;
        const std::uint64_t address = random.below(1 << 14) * 4096 + random.below(64) * 32;
        const auto beats = static_cast<std::uint32_t>(1 + random.below(128));
        Answer answer = memory->accept(cycle, direction, address, beats);
        while (!answer.accepted) cycle = answer.cycle, answer = memory->accept(cycle, direction, address, beats);
        const MemorySplit why = memory->explain(direction);
        REQUIRE(why.total() == answer.cycle - cycle);
        CHECK(why[MemoryCause::latency] > 0);
        CHECK(why[MemoryCause::full] + why[MemoryCause::arbitration] == 0);
        sum += why;
      }
      const bool bank = std::string(text).starts_with("bank");
      CHECK((sum[MemoryCause::row_miss] > 0) == bank);
      CHECK((sum[MemoryCause::refresh] > 0) == bank);
      CHECK(sum[MemoryCause::bandwidth] > 0);
    }
}

TEST_CASE("a wait is attributed to exceptional causes first, and to latency last") {
  MemorySplit parts = split(60, 10, 5, 3);
  parts[MemoryCause::full] = 2;
  parts[MemoryCause::arbitration] = 1;
  CHECK(divide_wait(0, parts) == MemorySplit{});
  CHECK(divide_wait(3, parts) == split(0, 0, 0, 3));
  CHECK(divide_wait(10, parts) == split(0, 2, 5, 3));
  MemorySplit all = parts;
  all[MemoryCause::latency] = 100 - 21;
  CHECK(divide_wait(100, parts) == all);
}

}  // namespace dovetail::simulator
