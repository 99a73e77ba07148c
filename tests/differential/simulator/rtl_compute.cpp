// Fetch, queues, tokens, and the compute unit with its pipes, at their limits. Structured as rtl_transfers.cpp.
#include <algorithm>
#include <vector>

#include "isa/text.h"
#include "isa/verify/token_machine.h"
#include "tests/catch.h"
#include "tests/differential/simulator/directed.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::test {

namespace {

using namespace simulator::testing;
using isa::AluOp;
using isa::Memory;
using isa::Queue;
using simulator::Dram;
using simulator::LaunchTrace;
using simulator::StallCause;

constexpr std::uint64_t kOperands = 3 * 4096;

isa::Instruction times(isa::Instruction instruction, std::uint32_t iterations, std::uint32_t dst_factor = 0) {
  isa::UopLoop* loop = isa::uop_loop(instruction);
  loop->iter_in = iterations, loop->dst_factor_in = dst_factor;
  return instruction;
}

// Definitions that all of these programs need: micro-ops 0 to `uops`, INP, WGT and ACC.
std::vector<isa::Instruction> defined(const isa::HardwareConfig& config, std::uint32_t uops,
                                      std::uint32_t elements = 8) {
  const auto at = [&](Memory memory) { return kOperands / static_cast<std::uint64_t>(config.element_bytes(memory)); };
  return {load(Memory::uop, 0, simulator::testing::kDramBase / static_cast<std::uint64_t>(config.uop_bytes()), uops),
          load(Memory::inp, 0, at(Memory::inp), elements), load(Memory::wgt, 0, at(Memory::wgt), elements),
          load(Memory::acc, 0, at(Memory::acc), elements)};
}

// Runs a launch that defines operands, then one of `program`, which touches only SRAM and what compute's queue orders;
// returns the trace of the second.
LaunchTrace second_launch(const isa::HardwareConfig& config, const std::vector<isa::Uop>& uops,
                          const std::vector<isa::Instruction>& program) {
  std::vector<isa::Instruction> all = defined(config, static_cast<std::uint32_t>(uops.size()));
  const std::size_t begin = all.size();
  all.insert(all.end(), program.begin(), program.end());
  const auto traces = agree(config, all, image(config, uops, 5 * 4096), {{0, begin}, {begin, program.size()}});
  return traces.empty() ? LaunchTrace{} : traces[1];
}

}  // namespace

TEST_CASE("RTL: fetch of launches of every length and beginning, with instructions smaller and larger than a beat") {
  for (const std::int64_t bus : {4, 8, 64}) {
    const auto config = tiny(bus);
    // The program follows the image at a 4 KiB boundary; launches cross the next boundary.
    std::vector<isa::Instruction> program(280, finish());
    std::vector<isa::Launch> launches{{0, 1}};
    for (std::size_t length = 1, at = 1; at + length <= 60; at += length, length = length % 11 + 1)
      launches.push_back({at, length});
    launches.push_back({launches.back().begin + launches.back().count, 0});
    launches.back().count = 250 - launches.back().begin;
    for (std::size_t length = 1, at = 250; at + length <= 280; at += length, length = length % 9 + 1)
      launches.push_back({at, length});
    program.resize(launches.back().begin + launches.back().count, finish());
    agree(config, program, image(config, {}, 100), launches);
  }
}

TEST_CASE("RTL: the cycles of the first instruction of a launch are those of the timing page") {
  const auto config = isa::load_config("1x16x16").value();
  const auto traces = agree(config, {finish()}, image(config, {}, 100));
  if (traces.empty()) return;
  // Fetch requests in 1, ARVALID in 2, beats in 3 and 4, used in 4 and 5: the issue. Start in 6, end in 7, done in 8.
  const simulator::TraceEvent expected{
      .instruction = 0, .unit = Queue::compute, .issue = 5, .start = 6, .end = 7, .cause = StallCause::fetch};
  CHECK(traces[0].events == std::vector{expected});
  CHECK(traces[0].cycles == 8);
}

TEST_CASE("RTL: fetch waits for room in each command queue, and so do later instructions") {
  const auto config = tiny();
  const auto depth = static_cast<std::size_t>(config.command_queue_depth);
  for (const Queue queue : {Queue::load, Queue::compute, Queue::store}) {
    // A head that waits for a token, and enough instructions after it to fill its queue; earlier instructions push the
    // token.
    std::vector<isa::Instruction> program = defined(config, 1);
    const std::size_t slow = program.size();
    if (queue == Queue::compute) {
      program.push_back(load(Memory::wgt, 0, kOperands / 16, 8, kPushNext));
      program.push_back(nop(queue, kPopPrev));
    } else {
      program.push_back(times(gemm(0, 1, queue == Queue::load ? kPushPrev : kPushNext), 300));
      program.push_back(nop(queue, queue == Queue::load ? kPopNext : kPopPrev));
    }
    program[slow - 2].flags = program[slow - 3].flags = {};
    for (std::size_t i = 0; i < depth + 3; ++i) program.push_back(nop(queue, {}));
    for (const Queue other : {Queue::load, Queue::compute, Queue::store}) program.push_back(nop(other, {}));
    const std::size_t begin = slow;
    const auto traces =
        agree(config, program, image(config, {{0, 0, 0}}, 5 * 4096), {{0, begin}, {begin, program.size() - begin}});
    if (traces.empty()) return;
    const auto& events = traces[1].events;
    // Event 1 is the head; `depth` instructions fit with it; the next is issued in the cycle after the head has left.
    CAPTURE(static_cast<int>(queue));
    CHECK(events[1].start == events[0].end + 1);
    CHECK(events[depth].issue < events[1].start);
    CHECK(events[1 + depth].issue == events[1].start + 1);
    CHECK(events[1 + depth + 3].issue > events[1 + depth].issue);
  }
}

TEST_CASE("RTL: a full token FIFO delays an end until the cycle after a pop") {
  const auto config = tiny();  // two tokens
  std::vector<isa::Instruction> program = defined(config, 1);
  const std::size_t begin = program.size();
  program.push_back(times(gemm(0, 1), 100));
  for (int i = 0; i < 4; ++i) program.push_back(nop(Queue::load, kPushNext));
  for (int i = 0; i < 4; ++i) program.push_back(nop(Queue::compute, kPopPrev));
  const auto traces =
      agree(config, program, image(config, {{0, 0, 0}}, 5 * 4096), {{0, begin}, {begin, program.size() - begin}});
  if (traces.empty()) return;
  const auto& events = traces[1].events;
  CHECK(events[2].end < events[0].end);
  CHECK(events[3].end == events[5].start + 1);
  CHECK(events[4].end == events[6].start + 1);
  CHECK(traces[1].classes[isa::index(Queue::load)][static_cast<std::size_t>(simulator::UnitClass::push)] > 0);
}

TEST_CASE("RTL: after a GEMM of n steps the next starts n cycles later, and a change of kind drains the pipe") {
  for (const char* name : {"tiny", "1x16x16"}) {
    const auto config = isa::load_config(name).value();
    const LaunchTrace trace =
        second_launch(config, {{0, 0, 0}, {1, 1, 1}},
                      {times(gemm(0, 1), 10), times(gemm(0, 1), 1), times(reset(1, 2), 20), times(gemm(0, 2), 0),
                       gemm(1, 1), times(gemm(0, 1), 3), times(alu_imm(AluOp::add, 1, 0, 1), 4), finish()});
    if (trace.events.empty()) return;
    const auto& e = trace.events;
    const std::uint64_t s = e[0].start;
    CHECK(e[0].end == s + 3 + 9 + 4 + 1);
    // The command queue of `tiny` is shallow, but fetch is ahead at this point.
    CHECK(e[1].start == s + 10);
    CHECK(e[2].start == s + 11);
    CHECK(e[3].start == s + 31);  // zero-trip: one step
    CHECK(e[4].start == s + 32);
    CHECK(e[5].start == s + 33);
    CHECK(e[5].end == s + 33 + 3 + 2 + 4 + 1);
    CHECK(e[6].start == e[5].end + 1);
    CHECK(e[6].cause == StallCause::drain);
    CHECK(e[6].end == e[6].start + 3 + 3 + 1 + 1);
    CHECK(e[7].start == e[6].end + 1);
    CHECK(e[7].end == e[7].start + 1);
  }
}

TEST_CASE("RTL: up to compute_in_flight complete instructions wait in the pipe for room for their tokens") {
  auto config = tiny();
  config.name += "-one-token";
  config.command_queue_depth = 32, config.token_queue_depth = 1, config.inp_buffer_bytes = 4096;
  std::vector<isa::Instruction> program = defined(config, 1);
  const std::size_t begin = program.size();
  // After a long load, load_waiting NOPs take a token each; one more is in the FIFO; the GEMMs of the others cannot
  // end.
  program.push_back(load(Memory::inp, 100, kOperands / 4, 900));
  for (int i = 0; i < 20; ++i) {
    program.push_back(times(gemm(0, 1, kPushPrev), 1));
    program.push_back(nop(Queue::load, kPopNext));
  }
  const auto traces =
      agree(config, program, image(config, {{0, 0, 0}}, 5 * 4096), {{0, begin}, {begin, program.size() - begin}});
  if (traces.empty()) return;
  const auto& events = traces[1].events;
  std::ptrdiff_t most = 0;
  for (const auto& event : events)
    if (event.unit == Queue::compute)
      most = std::max(most, std::ranges::count_if(events, [&](const auto& other) {
                        return other.unit == Queue::compute && other.start <= event.start && other.end >= event.start;
                      }));
  CHECK(most == 8);
  CHECK(traces[1].classes[isa::index(Queue::compute)][static_cast<std::size_t>(simulator::UnitClass::push)] > 0);
}

TEST_CASE("RTL: the cycles of every ALU step: immediate, vector, repeated, REQUANT, interlocked") {
  const auto config = isa::load_config("1x16x16-ext").value();
  // Destinations 1, 2, 3 and 4 with one source; then with changing sources; then chains through one destination.
  const std::vector<isa::Uop> uops{{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}, {1, 5, 0}, {2, 6, 0},
                                   {1, 5, 0}, {3, 6, 0}, {1, 1, 0}, {1, 1, 0}, {2, 1, 0}, {1, 2, 0},
                                   {1, 6, 0}, {2, 6, 0}, {3, 6, 0}, {4, 6, 0}};
  struct Case {
    isa::Instruction instruction;
    std::uint64_t cost;  // cycles in R, the sum of c(i)
    std::uint64_t to_write;
  };
  const auto requant = [&](std::uint32_t begin, std::uint32_t end) { return alu(AluOp::requant, begin, end); };
  const std::vector<Case> cases{
      {alu_imm(AluOp::add, 3, 0, 4), 4, 1},  // an immediate: one cycle each
      {alu_imm(AluOp::mul, 3, 0, 4), 4, 4},
      {alu(AluOp::add, 0, 4), 2 + 3, 1},          // the operand of the previous step
      {alu(AluOp::min, 4, 8), 2 * 4, 1},          // another operand each time
      {alu(AluOp::mul, 4, 8), 2 * 4 + 1, 4},      // the third step reads the result of the first
      {requant(12, 16), 3 + 3, 4},                // scale and bias of the previous step
      {requant(0, 4), 3 + 3 + 3 + 2, 4},          // the first step writes the bias of the others
      {alu_imm(AluOp::mul, 3, 8, 10), 2 + 3, 4},  // interlocked: its destination is pending
      {alu(AluOp::add, 8, 10), 2 + 2, 1},         // the same index, but it was written: not repeated; no interlock
      {alu(AluOp::mul, 8, 10), 2 + 2 + 3, 4},
  };
  for (const Case& c : cases) {
    const LaunchTrace trace = second_launch(config, uops, {c.instruction});
    if (trace.events.empty()) return;
    CAPTURE(isa::format_instruction(c.instruction));
    // U in s + 1, R from s + 3, then the pipe, then the end.
    CHECK(trace.events[0].end == trace.events[0].start + 3 + c.cost - 1 + c.to_write + 1);
  }
  // All of them in sequence, and every operation over every kind of step.
  std::vector<isa::Instruction> all;
  for (const Case& c : cases) all.push_back(c.instruction);
  for (std::uint32_t op = 0; op < 6; ++op)
    for (const bool imm : {false, true}) {
      if (imm && op == 5) continue;
      for (std::uint32_t begin = 0; begin < 12; begin += 3) {
        isa::Instruction step =
            imm ? alu_imm(static_cast<AluOp>(op), -7, begin, begin + 3) : alu(static_cast<AluOp>(op), begin, begin + 3);
        all.push_back(times(step, 2));
      }
    }
  second_launch(config, uops, all);
}

TEST_CASE("RTL: forwarding and write-through: the next two steps read the value that a step writes") {
  for (const char* name : {"1x16x16-ext", "4x8x8"}) {
    const auto config = isa::load_config(name).value();
    // Each destination occurs again after 1, 2, 3 and 4 steps.
    const std::vector<isa::Uop> uops{{1, 0, 0}, {1, 1, 1}, {2, 1, 2}, {1, 2, 3}, {3, 1, 0}, {2, 3, 1},
                                     {1, 1, 2}, {4, 2, 3}, {4, 4, 0}, {1, 4, 1}, {2, 1, 0}, {3, 2, 1}};
    std::vector<isa::Instruction> program{times(gemm(0, 12), 3), gemm(0, 1), gemm(0, 1), gemm(1, 2)};
    for (const AluOp op : {AluOp::add, AluOp::mul, AluOp::shr, AluOp::min, AluOp::max}) {
      program.push_back(times(alu(op, 0, 12), 2));
      program.push_back(alu_imm(op, 3, 0, 2));
      program.push_back(alu_imm(op, 3, 1, 3));
    }
    second_launch(config, uops, program);
  }
}

TEST_CASE("RTL: SRAM and micro-ops are kept from launch to launch, for any contents at power-up") {
  const auto config = tiny();
  std::vector<isa::Instruction> program = defined(config, 2);
  program.push_back(gemm(0, 2));
  program.push_back(store(0, kOperands / 4 + 100, 8));
  std::vector<isa::Launch> launches;
  for (std::size_t i = 0; i < program.size(); ++i) launches.push_back({i, 1});
  launches.push_back({program.size(), 0});
  agree(config, program, image(config, {{0, 1, 2}, {3, 1, 0}}, 5 * 4096), launches);
}

}  // namespace dovetail::test
