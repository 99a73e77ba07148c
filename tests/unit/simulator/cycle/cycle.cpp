// Times worked out by hand from docs/reference/timing.md, and programs that the cycle-accurate simulator refuses.
#include "simulator/cycle/cycle.h"

#include <numeric>
#include <thread>
#include <vector>

#include "isa/verify/token_machine.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using isa::Queue;

namespace {

// Latency 1: the first instruction is issued early, the others every two cycles (two beats each).
const EngineOptions kFast{.memory = IdealMemory{.latency = 1}, .trace = true};

LaunchTrace time_of(const std::vector<isa::Instruction>& program, const EngineOptions& options = kFast,
                    const isa::HardwareConfig& config = {}) {
  const auto simulator = make_cycle_timing(config, options);
  Dram dram = image(config, {{0, 0, 0}}, 1 << 16);
  const auto counters = simulator->launch(program, dram);
  REQUIRE(counters.ok());
  return *simulator->timing();
}

isa::Instruction steps(isa::Instruction instruction, std::uint32_t iter_in) {
  if (auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) gemm->iter_in = iter_in;
  if (auto* alu = std::get_if<isa::Alu>(&instruction.body)) alu->iter_in = iter_in;
  return instruction;
}

std::string failure_of(const std::vector<isa::Instruction>& program, const EngineOptions& options = {}) {
  const auto simulator = make_cycle(isa::HardwareConfig{}, options);
  Dram dram = image(isa::HardwareConfig{}, {{0, 0, 0}}, 1 << 16);
  const auto counters = simulator->launch(program, dram);
  REQUIRE_FALSE(counters.ok());
  return to_string(counters.errors());
}

}  // namespace

TEST_CASE("the cycles of a single FINISH") {
  // Fetch requests and is granted in 1, ARVALID in 2; with a latency of 64 the two beats arrive in 66 and 67, used in
  // 67 and 68: the issue. Start in 69, end in 70, done in 71.
  const LaunchTrace trace = time_of({finish()}, {.memory = IdealMemory{}, .trace = true});
  CHECK(trace.cycles == 71);
  const TraceEvent expected{
      .instruction = 0, .unit = Queue::compute, .issue = 68, .start = 69, .end = 70, .cause = StallCause::fetch};
  CHECK(trace.events == std::vector{expected});
}

TEST_CASE("an empty launch takes a cycle") { CHECK(time_of({}).cycles == 1); }

TEST_CASE("after an unhindered GEMM of n steps the next starts n cycles later") {
  const LaunchTrace trace =
      time_of({steps(gemm(0, 1), 10), steps(gemm(0, 1), 1), steps(gemm(0, 1), 20), steps(gemm(0, 1), 1)});
  const Cycle s = trace.events[0].start;
  CHECK(trace.events[0].end == s + 3 + 9 + 4 + 1);
  CHECK(trace.events[1].start == s + 10);
  CHECK(trace.events[1].cause == StallCause::unit);
  CHECK(trace.events[1].end == trace.events[0].end + 1);
  CHECK(trace.events[2].start == s + 11);
  CHECK(trace.events[3].start == s + 31);
}

TEST_CASE("a change of kind drains the pipe") {
  const LaunchTrace trace = time_of({steps(gemm(0, 1), 10), steps(alu_imm(isa::AluOp::add, 1, 0, 1), 4)});
  CHECK(trace.events[1].start == trace.events[0].end + 1);
  CHECK(trace.events[1].cause == StallCause::drain);
  // Four steps of one cycle, written one cycle after R.
  CHECK(trace.events[1].end == trace.events[1].start + 3 + 3 + 1 + 1);
}

TEST_CASE("a load's slots follow its beats") {
  // Two elements of 16 bytes: four beats.
  const LaunchTrace trace = time_of({load(isa::Memory::inp, 0, kDramBase / 16 + 64, 2)});
  // Requested in s + 1, ARVALID in s + 2, first beat in s + 3, slots in s + 4 to s + 7, end in s + 8.
  CHECK(trace.events[0].end == trace.events[0].start + 8);
}

TEST_CASE("a store ends when its last response has arrived") {
  const LaunchTrace trace = time_of({store(0, kDramBase / 16 + 64, 1)});
  // Two slots in s + 1 and s + 2, ready in s + 4, AWVALID in s + 5, W in s + 6 and s + 7, B one cycle of latency later,
  // end after that.
  CHECK(trace.events[0].end == trace.events[0].start + 9);
}

TEST_CASE("a consumer starts the cycle after its token") {
  const LaunchTrace trace =
      time_of({load(isa::Memory::inp, 0, kDramBase / 16 + 64, 2, kPushNext), steps(reset(0, 1, kPopPrev), 1)});
  CHECK(trace.events[1].start == trace.events[0].end + 1);
  CHECK(trace.events[1].cause == StallCause::token_prev);
}

TEST_CASE("the classes of each unit sum to the cycles") {
  const LaunchTrace trace = time_of({load(isa::Memory::inp, 0, kDramBase / 16 + 64, 2, kPushNext),
                                     steps(reset(0, 1, kPopPrev), 7), store(0, kDramBase / 16 + 64, 1)});
  for (const auto& unit : trace.classes)
    CHECK(std::accumulate(unit.begin(), unit.end(), std::uint64_t{0}) == trace.cycles);
  CHECK(trace.classes[isa::index(Queue::load)][static_cast<std::size_t>(UnitClass::work)] == 4);
  CHECK(trace.classes[isa::index(Queue::compute)][static_cast<std::size_t>(UnitClass::work)] == 7);
  CHECK(trace.classes[isa::index(Queue::store)][static_cast<std::size_t>(UnitClass::work)] == 2);
}

TEST_CASE("micro-ops are kept from launch to launch until a reset") {
  const isa::HardwareConfig config;
  const auto simulator = make_cycle_timing(config, kFast);
  // Two micro-ops with one source: repeated, unless the memory is reset.
  Dram dram = image(config, {{1, 0, 0}, {2, 0, 0}}, 64);
  REQUIRE(simulator->launch(std::vector{load(isa::Memory::uop, 0, kDramBase / 4, 2)}, dram).ok());
  const std::vector adds{alu(isa::AluOp::add, 0, 2)};
  REQUIRE(simulator->launch(adds, dram, 1).ok());
  const Cycle with = simulator->timing()->cycles;
  simulator->reset();
  REQUIRE(simulator->launch(adds, dram, 1).ok());
  CHECK(simulator->timing()->cycles == with + 1);
}

TEST_CASE("programs that the cycle-accurate simulator refuses") {
  CHECK_THAT(failure_of({nop(Queue::compute, kPopPrev)}),
             ContainsSubstring("deadlock, as a token is missing") &&
                 ContainsSubstring("token 1 of load -> compute, which nothing pushes"));
  CHECK_THAT(failure_of({nop(Queue::load, kPushNext)}), ContainsSubstring("1 token left over in load -> compute"));
  CHECK_THAT(failure_of({finish(), load(isa::Memory::inp, 0, 1 << 20, 1)}),
             ContainsSubstring("instruction 1") && ContainsSubstring("but the image covers"));
  CHECK_THAT(failure_of({finish(), steps(gemm(0, 1), 1)}), ContainsSubstring("not written since reset"));
  CHECK_THAT(failure_of({nop(Queue::load, kPopPrev)}), ContainsSubstring("instruction 0"));
  CHECK_THAT(failure_of({finish()}, {.program_base = 8}), ContainsSubstring("multiple of 16"));
  CHECK_THAT(failure_of({finish()}, {.program_base = std::uint64_t{1} << 32}), ContainsSubstring("32 address bits"));
}

TEST_CASE("a deadlocked launch has its events up to the deadlock, and one that leaves tokens has all its times") {
  const auto simulator = make_cycle(isa::HardwareConfig{}, kFast);
  Dram dram = image(isa::HardwareConfig{}, {}, 1 << 16);
  const auto fails = [&](const std::vector<isa::Instruction>& program) {
    REQUIRE_FALSE(simulator->launch(program, dram).ok());
    return simulator->timing();
  };
  const LaunchTrace* standstill = fails({finish(), nop(Queue::compute, kPopPrev), finish()});
  REQUIRE(standstill != nullptr);
  CHECK(standstill->cycles == 0);
  REQUIRE(standstill->events.size() == 3);
  const std::uint64_t issue = standstill->events[0].issue;
  CHECK(standstill->events[0] == time_of({finish()}, kFast).events[0]);
  CHECK(standstill->events[1] == TraceEvent{.instruction = 1, .unit = Queue::compute, .issue = issue + 2});
  CHECK(standstill->events[2] == TraceEvent{.instruction = 2, .unit = Queue::compute, .issue = issue + 4});

  const LaunchTrace* leftover = fails({nop(Queue::load, kPushNext)});
  REQUIRE(leftover != nullptr);
  CHECK(leftover->cycles == time_of({nop(Queue::load, {})}, kFast).cycles);
  CHECK(leftover->events == time_of({nop(Queue::load, {})}, kFast).events);

  CHECK(fails({load(isa::Memory::inp, 0, 1 << 20, 1)}) == nullptr);
}

TEST_CASE("timing without values refuses transfers outside the image") {
  const auto simulator = make_cycle_timing(isa::HardwareConfig{}, {});
  Dram dram = image(isa::HardwareConfig{}, {}, 64);
  const auto failure = [&](const isa::Instruction& instruction) {
    return to_string(simulator->launch({&instruction, 1}, dram).errors());
  };
  CHECK_THAT(failure(store(0, 1 << 20, 1)), ContainsSubstring("are written, but the image covers"));
  CHECK_THAT(failure(load(isa::Memory::uop, 0, 0, 1)), ContainsSubstring("are read, but the image covers"));
}

TEST_CASE("concurrent simulations have the same cycles as separate ones") {
  const test::GeneratedProgram program = test::generate(isa::HardwareConfig{}, {.seed = 5, .size = 200, .launches = 1});
  const auto run = [&] {
    const auto simulator =
        make_cycle(program.config, {.memory = parse_memory("bank:ddr4-2400").value(), .trace = true});
    Dram dram{program.dram_base, program.dram};
    return simulator->launch(program.program, dram).ok() ? *simulator->timing() : LaunchTrace{};
  };
  const LaunchTrace alone = run();
  CHECK(alone.cycles > 0);
  std::vector<LaunchTrace> traces(4);
  std::vector<std::thread> threads;
  for (LaunchTrace& trace : traces) threads.emplace_back([&trace, &run] { trace = run(); });
  for (std::thread& thread : threads) thread.join();
  for (const LaunchTrace& trace : traces) CHECK(trace == alone);
}

}  // namespace dovetail::simulator
