// Memories with several ports: each has its own data path, and all share the DRAM.
#include "simulator/cycle/bounds.h"
#include "simulator/memory/fair_turns.h"
#include "simulator/memory/memory.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::simulator;

namespace {

// The cycle in which the last of `bursts` reads of each requester has arrived, if all ask as often as they can.
Cycle last_beat(const char* text, int requesters, int bursts) {
  constexpr std::int64_t kBus = 8;
  constexpr std::uint32_t kBeats = 16;
  const auto memory = make_memory(parse_memory(text).value(), kBus);
  FairTurns turns(*memory);
  turns.begin(requesters);
  std::vector<Cycle> from(static_cast<std::size_t>(requesters), 0);
  std::vector<int> left(static_cast<std::size_t>(requesters), bursts);
  Cycle last = 0;
  for (Cycle cycle = 0; std::ranges::any_of(left, [](int n) { return n > 0; }); ++cycle) {
    std::vector<int> asking;
    for (int i = 0; i < requesters; ++i)
      if (left[static_cast<std::size_t>(i)] > 0 && from[static_cast<std::size_t>(i)] <= cycle) asking.push_back(i);
    turns.sort(Direction::read, asking);
    for (const int i : asking) {
      const auto at = static_cast<std::size_t>(i);
      // Each reads its own bank of ddr4-2400.
      const std::uint64_t address = (at << 15) + static_cast<std::uint64_t>(bursts - left[at]) * kBeats * kBus;
      const Answer answer = turns.accept(i, cycle, Direction::read, address, kBeats);
      from[at] = answer.accepted ? cycle + 1 : answer.cycle;
      if (!answer.accepted) continue;
      --left[at];
      last = std::max(last, answer.cycle + kBeats - 1);
    }
  }
  return last;
}

}  // namespace

TEST_CASE("requesters with separate ports do not delay each other in an ideal memory") {
  const Cycle alone = last_beat("ideal", 1, 50);
  CHECK(alone == 64 + 50 * 16 - 1);
  CHECK(last_beat("ideal", 2, 50) == 64 + 100 * 16 - 1);
  CHECK(last_beat("ideal:ports=2", 2, 50) == alone);
  CHECK(last_beat("ideal:ports=4", 4, 50) == alone);
  CHECK(last_beat("ideal:ports=2", 4, 50) == 64 + 100 * 16 - 1);
  CHECK(last_beat("ideal:ports=8", 1, 50) == alone);
}

TEST_CASE("ports of a DRAM share its data bus") {
  // DDR4-2400 at 500 MHz moves 38.4 bytes a cycle: more than two ports of 8 bytes, less than eight.
  const Cycle alone = last_beat("bank:ddr4-2400", 1, 200), one_port = last_beat("bank:ddr4-2400", 2, 200),
              two_ports = last_beat("bank:ddr4-2400,ports=2", 2, 200),
              eight = last_beat("bank:ddr4-2400,ports=8", 8, 200);
  CHECK(one_port > alone * 19 / 10);
  CHECK(two_ports < one_port * 6 / 10);
  CHECK(eight > alone * 8 * 8 / 39);
}

TEST_CASE("the number of ports survives its text, and one is not written") {
  for (const char* text : {"ideal:ports=3", "bank:ddr4-2400,ports=2", "perturbed:seed=1,ports=2"}) {
    const MemorySpec spec = parse_memory(text).value();
    CHECK(parse_memory(to_string(spec)).value() == spec);
    CHECK(ports_of(spec) > 1);
  }
  CHECK(to_string(parse_memory("ideal:ports=1").value()) == to_string(parse_memory("ideal").value()));
  CHECK_FALSE(parse_memory("ideal:ports=0").ok());
  CHECK_FALSE(parse_memory("bank:ddr4-2400,ports=65").ok());
}

TEST_CASE("the peak rate counts the ports that accelerators use") {
  const auto rate = [](const char* text, std::int64_t accelerators) {
    return peak_rate(parse_memory(text).value(), 8, accelerators).each_way;
  };
  CHECK(rate("ideal:ports=4", 1) == 8);
  CHECK(rate("ideal:ports=4", 2) == 16);
  CHECK(rate("ideal:ports=2", 4) == 16);
  CHECK(rate("ideal", 4) == 8);
  CHECK(rate("bank:ddr4-2400,clock-ps=2000,ports=8", 8) == Approx(38.4).epsilon(0.01));
}
