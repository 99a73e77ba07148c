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
        "bank:ddr4-2400", "bank:lpddr4", "bank:hbm2,clock-ps=700,outstanding=3", "bank:ddr4-2400,clock-ps=100"}) {
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
        "perturbed:seed=5,latency=6,refusal=7,base-latency=8,bytes=9,outstanding=10"}) {
    CHECK(to_string(parse_memory(text).value()) == text);
  }
  const auto error = [](const char* text) { return dovetail::to_string(parse_memory(text).errors()); };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(error("sram"), ContainsSubstring("there is no memory model \"sram\""));
  CHECK_THAT(error("bank:ddr9"), ContainsSubstring("ddr4-2400, lpddr4, hbm2"));
  CHECK_THAT(error("ideal:latency=0"), ContainsSubstring("latency is \"0\", but must be a number from 1 to 1000000"));
  CHECK_THAT(error("ideal:speed=1"), ContainsSubstring("the keys are latency, bytes, outstanding"));
  CHECK_THAT(error("perturbed:seed"), ContainsSubstring("\"seed\" is not a key=value"));
}

}  // namespace dovetail::simulator::testing
