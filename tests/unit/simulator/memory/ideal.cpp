// The ideal memory and its perturbation: latency, bandwidth, room, and the contract of docs/reference/timing.md for
// every model.
#include <vector>

#include "simulator/memory/memory.h"
#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::simulator::testing {

namespace {

constexpr std::int64_t kBus = 8;

}  // namespace

TEST_CASE("the ideal memory answers a read after its latency, and separates bursts") {
  const auto memory = make_memory(IdealMemory{.latency = 10}, kBus);
  CHECK(memory->accept(5, Direction::read, 0, 4) == Answer{true, 15});
  CHECK(memory->accept(6, Direction::read, 64, 4) == Answer{true, 19});   // beats 15 to 18 are taken
  CHECK(memory->accept(30, Direction::read, 64, 4) == Answer{true, 40});  // the pipe is empty again
}

TEST_CASE("the ideal memory delays a burst that its bandwidth cannot deliver in one piece") {
  const auto memory = make_memory(IdealMemory{.latency = 10, .bytes_per_cycle = 4}, kBus);
  // 4 beats of 8 bytes take 8 cycles from cycle 10, so the last beat comes in 17.
  CHECK(memory->accept(0, Direction::read, 0, 4) == Answer{true, 14});
  CHECK(memory->accept(1, Direction::read, 0, 1) == Answer{true, 19});
}

TEST_CASE("a fractional rate carries the part of a cycle from burst to burst, exactly") {
  // 6.4 bytes a cycle: a beat of 8 bytes takes 1.25 cycles. Bursts of one beat from cycle 10 end at 11.25, 12.5, 13.75
  // and 15: their beats come in the cycles 11, 12, 13 and 14.
  const auto memory = make_memory(IdealMemory{.latency = 10, .bytes_per_cycle = {64, 10}}, kBus);
  for (const Cycle beat : {11, 12, 13, 14, 16}) CHECK(memory->accept(0, Direction::read, 0, 1) == Answer{true, beat});
  // 4 beats, after 16.25 cycles, take 5 more: the last one comes in 21, the first in 18.
  CHECK(memory->accept(1, Direction::read, 0, 4) == Answer{true, 18});
  CHECK(memory->accept(100, Direction::read, 0, 4) == Answer{true, 111});  // idle again: 110 to 115
  // Writes: from cycle 1 on, 1.25 cycles each, 10 after the cycle of the last byte.
  const auto writes = make_memory(IdealMemory{.latency = 10, .bytes_per_cycle = {64, 10}}, kBus);
  for (const Cycle response : {12, 13, 14, 15, 17})
    CHECK(writes->accept(0, Direction::write, 0, 1) == Answer{true, response});
  // Half a byte a cycle: 16 cycles for a beat.
  const auto slow = make_memory(parse_memory("ideal:latency=1,bytes=0.5").value(), kBus);
  CHECK(slow->accept(0, Direction::read, 0, 1) == Answer{true, 16});
  CHECK(slow->accept(0, Direction::read, 0, 2) == Answer{true, 47});  // 17 to 49
  // No drift: 3000 beats at 2.333333 bytes a cycle end 24,000 / 2.333333 = 10,285.7 cycles after cycle 1, so that the
  // last one comes in cycle 10,286.
  const auto long_one = make_memory(parse_memory("ideal:latency=1,bytes=2.333333,outstanding=65536").value(), kBus);
  Answer last;
  for (int i = 0; i < 3000; ++i) last = long_one->accept(0, Direction::read, 0, 1);
  CHECK(last == Answer{true, 10'286});
  // A rate of whole bytes takes whole cycles for each burst, as a data path of that width: 8 / 3 bytes are 3 cycles.
  const auto whole = make_memory(parse_memory("ideal:latency=10,bytes=3").value(), kBus);
  for (const Cycle beat : {12, 15, 18}) CHECK(whole->accept(0, Direction::read, 0, 1) == Answer{true, beat});
  // As fast as the bus, and faster.
  for (const char* text : {"ideal:latency=10", "ideal:latency=10,bytes=8", "ideal:latency=10,bytes=36.571428"}) {
    const auto fast = make_memory(parse_memory(text).value(), kBus);
    for (const Cycle beat : {10, 11, 12}) CHECK(fast->accept(0, Direction::read, 0, 1) == Answer{true, beat});
  }
}

TEST_CASE("the ideal memory answers a write a latency after its last byte") {
  const auto memory = make_memory(IdealMemory{.latency = 10}, kBus);
  // Beats in cycles 6 to 9.
  CHECK(memory->accept(5, Direction::write, 0, 4) == Answer{true, 19});
  const auto slow = make_memory(IdealMemory{.latency = 1, .bytes_per_cycle = 4}, kBus);
  CHECK(slow->accept(5, Direction::write, 0, 4) == Answer{true, 14});
}

TEST_CASE("a memory refuses bursts beyond its room until the oldest is complete") {
  const auto memory = make_memory(IdealMemory{.latency = 10, .outstanding = 2}, kBus);
  CHECK(memory->accept(0, Direction::read, 0, 2) == Answer{true, 10});  // complete in 11
  CHECK(memory->accept(1, Direction::read, 0, 2) == Answer{true, 12});
  CHECK(memory->accept(2, Direction::read, 0, 2) == Answer{false, 12});
  CHECK(memory->accept(11, Direction::read, 0, 2) == Answer{false, 12});
  CHECK(memory->accept(11, Direction::write, 0, 1).accepted);  // the other direction has separate room
  CHECK(memory->accept(12, Direction::read, 0, 2) == Answer{true, 22});
}

TEST_CASE("every memory keeps its contract, whenever it is asked") {
  for (const char* text :
       {"ideal", "ideal:latency=1,bytes=3,outstanding=2", "perturbed:seed=1", "perturbed:seed=2,latency=0,refusal=40",
        "ideal:latency=3,bytes=0.3", "ideal:bytes=7.999999", "perturbed:seed=4,bytes=5.5", "bank:ddr4-2400",
        "bank:lpddr4", "bank:hbm2,clock-ps=700,outstanding=3", "bank:ddr4-2400,clock-ps=100", "bank:ddr5-4800",
        "bank:lpddr5-6400", "bank:hbm3"}) {
    CAPTURE(text);
    const MemorySpec spec = parse_memory(text).value();
    const auto eager = make_memory(spec, kBus), patient = make_memory(spec, kBus);
    test::Random random(7);
    Cycle cycle = 0, last_beat = 0, last_response = 0;
    for (int i = 0; i < 3000; ++i) {
      cycle += random.below(random.chance(90) ? 8 : 20000);
      const Direction direction = random.chance(60) ? Direction::read : Direction::write;
      const auto beats = static_cast<std::uint32_t>(random.between(1, 32));
      const std::uint64_t page = random.below(random.chance(50) ? 8 : 4096) * 4096;
      const std::uint64_t address = page + random.below(512 - beats + 1) * kBus;
      Cycle from = cycle;
      Answer answer = eager->accept(cycle, direction, address, beats);
      // Asking in every cycle and asking only at the answered cycle give the same result.
      for (Answer first = patient->accept(cycle, direction, address, beats); !first.accepted;) {
        REQUIRE(first.cycle > from);
        from = first.cycle;
        first = patient->accept(from, direction, address, beats);
        if (first.accepted) {
          while (!answer.accepted) answer = eager->accept(++cycle, direction, address, beats);
          CHECK(cycle == from);
          CHECK(answer == first);
        }
      }
      REQUIRE(answer.accepted);
      if (direction == Direction::read) {
        REQUIRE(answer.cycle > cycle);
        REQUIRE(answer.cycle > last_beat);
        last_beat = answer.cycle + beats - 1;
      } else {
        REQUIRE(answer.cycle > cycle + beats);
        REQUIRE(answer.cycle > last_response);
        last_response = answer.cycle;
      }
    }
    CHECK(eager->statistics() == patient->statistics());
    CHECK(eager->statistics().read_bursts + eager->statistics().write_bursts == 3000);
  }
}

TEST_CASE("a memory that is reset answers as at first") {
  for (const char* text : {"ideal:outstanding=1", "perturbed:seed=3", "bank:lpddr4"}) {
    const auto memory = make_memory(parse_memory(text).value(), kBus);
    std::vector<Answer> answers[2];
    for (auto& list : answers) {
      memory->reset();
      for (Cycle cycle = 0; cycle < 400; cycle += 20)
        for (const Direction direction : {Direction::read, Direction::write})
          list.push_back(memory->accept(cycle, direction, 64 * cycle, 8));
    }
    CHECK(answers[0] == answers[1]);
  }
}

TEST_CASE("memory models are written and read") {
  for (const char* text :
       {"ideal:latency=64,bytes=8,outstanding=16", "bank:hbm2,clock-ps=1000,controller=0,outstanding=4",
        "ideal:latency=64,bytes=0.5,outstanding=16", "ideal:latency=64,bytes=36.571428,outstanding=16",
        "ideal:latency=64,bytes=0.000001,outstanding=16", "ideal:latency=64,bytes=0,outstanding=16",
        "perturbed:seed=5,latency=6,refusal=7,base-latency=8,bytes=9,outstanding=10",
        "perturbed:seed=5,latency=6,refusal=7,base-latency=8,bytes=12.25,outstanding=10"}) {
    CHECK(to_string(parse_memory(text).value()) == text);
  }
  const auto error = [](const char* text) { return dovetail::to_string(parse_memory(text).errors()); };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(error("sram"), ContainsSubstring("there is no memory model \"sram\""));
  CHECK(to_string(parse_memory("ideal:bytes=12.50").value()) == "ideal:latency=64,bytes=12.5,outstanding=16");
  CHECK(to_string(parse_memory("ideal:bytes=8.0").value()) == "ideal:latency=64,bytes=8,outstanding=16");
  CHECK_THAT(error("bank:ddr9"),
             ContainsSubstring("ddr4-2400, lpddr4, hbm2, ddr4-3200, ddr5-4800, lpddr5-6400, hbm3, or bank:FILE.json"));
  for (const char* bytes :
       {"-1", "1e3", ".5", "5.", "0.1234567", "1048577", "1048576.1", "99999999", "+8", "nan", "", "0x8", "1,5", "8 "})
    CHECK_FALSE(parse_memory(std::string("ideal:bytes=") + bytes).ok());
  CHECK_THAT(
      error("ideal:bytes=0.1234567"),
      ContainsSubstring("bytes is \"0.1234567\", but must be a number from 0 to 1048576 with at most 6 decimals"));
  CHECK_THAT(error("ideal:latency=0"), ContainsSubstring("latency is \"0\", but must be a number from 1 to 1000000"));
  CHECK_THAT(error("ideal:speed=1"), ContainsSubstring("the keys are latency, bytes, outstanding"));
  CHECK_THAT(error("perturbed:seed"), ContainsSubstring("\"seed\" is not a key=value"));
  CHECK_THAT(error("ideal:latency=3,bytes=8,latency=4"), ContainsSubstring("latency is set twice"));
  CHECK_THAT(error("perturbed:seed=1,seed=1"), ContainsSubstring("seed is set twice"));
  CHECK_THAT(error("bank:hbm2,controller=1,controller=1"), ContainsSubstring("controller is set twice"));
}

}  // namespace dovetail::simulator::testing
