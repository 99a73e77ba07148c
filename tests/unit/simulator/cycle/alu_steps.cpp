// The cost of ALU steps in closed form equals that of walking through them.
#include "simulator/cycle/alu_steps.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "isa/semantics/uop_loop.h"
#include "isa/spec/alu_ops.h"
#include "tests/catch.h"

namespace dovetail::simulator {

namespace {

struct Walked : AluSteps {
  LongResults::Waits waits;
};

// `begin`: the cycle in which the first step enters R, with nothing else in the pipe.
Walked walk(const isa::Alu& alu, std::span<const isa::Uop> uops, std::uint64_t batch, std::uint64_t begin) {
  Walked steps;
  bool first = true;
  std::uint64_t last_src = 0, last_dst = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> writes;  // cycle, dst
  isa::semantics::for_each_step(alu, uops, [&](const isa::Uop& uop, std::uint64_t y, std::uint64_t x) {
    const std::uint64_t dst = uop.dst + y * alu.dst_factor_out + x * alu.dst_factor_in;
    const std::uint64_t src = uop.src + y * alu.src_factor_out + x * alu.src_factor_in;
    const std::uint64_t elements = isa::spec::source_elements(alu);
    const bool written = last_dst >= src && last_dst < src + elements;
    const bool keeps = elements == 0 || (!first && src == last_src && !written);  // only the destination is read
    steps.reads += keeps ? 1 : 1 + elements;
    std::uint64_t cost = keeps ? 1 : 1 + elements;
    if (alu.op == isa::AluOp::recip) cost = 28 * batch;
    if (alu.op == isa::AluOp::rsqrt) cost = 56 * batch;
    std::uint64_t start = begin;
    for (const auto& [cycle, index] : writes)
      if (index == dst || (!keeps && index >= src && index < src + elements)) start = std::max(start, cycle);
    steps.waits.before_last = steps.waits.last;
    steps.waits.last = start - begin;
    steps.waits.cycles += start - begin;
    begin = start + cost;
    writes.emplace_back(begin - 1 + 4, dst);
    steps.cycles_before_last = steps.last_cycles;
    steps.last_cycles = cost;
    steps.cycles += cost;
    ++steps.count;
    last_dst = dst;
    last_src = src;
    first = false;
  });
  return steps;
}

}  // namespace

TEST_CASE("alu_steps gives the same counts as walking through the steps, and LongResults the same waits") {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  std::uint64_t interlocked = 0, repeated = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<isa::Uop> uops(1 + below(5));
    // Few distinct indices, so that steps often use the same elements.
    for (isa::Uop& uop : uops) uop = {.dst = below(6), .src = below(4)};
    isa::Alu alu;
    alu.uop_begin = below(2);
    alu.uop_end = std::min(alu.uop_begin + below(5), static_cast<std::uint32_t>(uops.size()));
    alu.iter_out = below(7);
    alu.iter_in = below(9);
    alu.dst_factor_out = below(4);
    alu.dst_factor_in = below(4);
    alu.src_factor_out = below(4);
    alu.src_factor_in = below(3);
    alu.op = static_cast<isa::AluOp>(below(isa::spec::kAluOps.size()));
    alu.use_imm = isa::spec::takes_immediate(alu.op) && below(3) == 0;
    const std::uint32_t batch = 1 + below(3);
    const std::uint64_t begin = 100 + below(100);
    const Walked expected = walk(alu, uops, batch, begin);
    const AluSteps actual = alu_steps(alu, uops, batch);
    INFO("case " << i);
    REQUIRE(actual.count == expected.count);
    if (expected.count == 0) continue;
    REQUIRE(actual.cycles == expected.cycles);
    REQUIRE(actual.reads == expected.reads);
    REQUIRE(actual.last_cycles == expected.last_cycles);
    REQUIRE(actual.cycles_before_last == expected.cycles_before_last);
    const LongResults::Waits waits = LongResults{}.enter(alu, uops, batch, begin);
    REQUIRE(waits.cycles == expected.waits.cycles);
    REQUIRE(waits.last == expected.waits.last);
    REQUIRE(waits.before_last == expected.waits.before_last);
    interlocked += waits.cycles != 0;
    repeated += !alu.use_imm && expected.cycles < 2 * expected.count;
  }
  CHECK(interlocked > 5'000);
  CHECK(repeated > 1'000);
}

}  // namespace dovetail::simulator
