// The events of docs/reference/events.md, worked out by hand for two programs, on every engine; the design counts them
// from its own signals.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "simulator/rtl/rtl.h"
#include "simulator/systemc_engine.h"
#include "tests/catch.h"
#include "tests/torture/models.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator::testing {

namespace {

using isa::AluOp;
using isa::Memory;
using isa::Queue;

// The engines that this build has, ready to run.
std::vector<std::unique_ptr<Simulator>> engines(const isa::HardwareConfig& config, const EngineOptions& options) {
  std::vector<std::unique_ptr<Simulator>> all;
  all.push_back(make_functional(config));
  all.push_back(make_cycle(config, options));
  all.push_back(make_cycle_timing(config, options));
  if (find_systemc_engine()) all.push_back(make_systemc(config, options).value());
  if (const auto model = test::rtl_model(config))
    all.push_back(make_rtl(config, {.engine = options, .model = model}).value());
  return all;
}

void check_events(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program, const Dram& dram,
                  const Counters& expected) {
  for (const std::string text : {"ideal", "bank:ddr4-2400"}) {
    std::optional<DramCommands> commands;
    for (const auto& engine : engines(config, {.memory = parse_memory(text).value()})) {
      CAPTURE(engine->name(), text);
      Dram image = dram;
      const auto launched = engine->launch(program, image);
      if (!launched.ok()) FAIL(to_string(launched.errors()));
      const Counters& counters = *launched;
      CHECK(counters.sram == expected.sram);
      CHECK(counters.port == expected.port);
      CHECK(counters.gemm_uops == expected.gemm_uops);
      CHECK(counters.gemm_reset_uops == expected.gemm_reset_uops);
      CHECK(counters.epilogue_uops == expected.epilogue_uops);
      CHECK(counters.epilogue_parameters == expected.epilogue_parameters);
      CHECK(counters.epilogue_lookups == expected.epilogue_lookups);
      CHECK(counters.macs == expected.macs);
      CHECK(counters.alu_uops_by_op == expected.alu_uops_by_op);
      if (engine->name() == "functional") {
        CHECK_FALSE(counters.fetch);
        CHECK_FALSE(counters.dram);
        continue;
      }
      CHECK(counters.fetch == expected.fetch);
      CHECK(engine->timing()->counters == counters);
      CHECK(counters.dram.has_value() == text.starts_with("bank"));
      if (!commands) commands = counters.dram;
      CHECK(counters.dram == commands);
    }
  }
}

PortEvents through_port(std::uint64_t bursts, std::uint64_t beats) {
  return {.bursts = bursts, .beats = beats, .buffer = {.reads = beats, .writes = beats}};
}

isa::Instruction with(isa::Instruction instruction, const std::function<void(isa::UopLoop&)>& change) {
  change(*isa::uop_loop(instruction));
  return instruction;
}

}  // namespace

TEST_CASE("events of a program on the hardware tiny, counted by hand") {
  // Beats of 8 bytes, bursts of at most 4; INP and OUT have 4 bytes, WGT and ACC 16.
  const auto config = isa::load_config("tiny").value();
  const std::vector<isa::Uop> uops{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {0, 4, 0}, {1, 4, 0}, {4, 4, 0}};
  auto padded = load(Memory::acc, 0, 2 * kDramBase / 16, 1);
  auto& pads = std::get<isa::Load>(padded.body);
  pads.y_size = pads.x_stride = 2;
  pads.y_pad_0 = pads.x_pad_1 = 1;
  auto stored = store(0, 4 * kDramBase / 4, 3, kPopPrev);
  auto& rows = std::get<isa::Store>(stored.body);
  rows.y_size = 2;
  rows.x_stride = 4;
  const auto twice = [](isa::UopLoop& loop) { loop.iter_in = 2; };
  const auto along = [](isa::UopLoop& loop) { loop.iter_in = 2, loop.dst_factor_in = 1; };
  const std::vector<isa::Instruction> program{
      load(Memory::uop, 0, kDramBase / 4, 6),                         // 24 bytes: 3 beats
      padded,                                                         // 3 x 2 elements, 2 rows of 2 beats
      load(Memory::inp, 0, (kDramBase + 4) / 4, 5),                   // from the middle of a beat: 3
      load(Memory::wgt, 0, (2 * kDramBase - 16) / 16, 6, kPushNext),  // 2 beats, then, after 4 KiB, 4 + 4 + 2
      with(reset(0, 1, kPopPrev), along),                             // 2 steps
      with(gemm(0, 3), along),                                        // 6 steps
      alu_imm(AluOp::add, 3, 0, 3),                                   // 3 steps, 3 reads
      with(alu(AluOp::max, 3, 5), twice),                             // src 4 four times: 2 + 1 + 1 + 1 reads
      with(alu(AluOp::mul, 3, 4), [](isa::UopLoop& loop) { loop.iter_in = 3, loop.dst_factor_in = 2; }),  // 2 + 1 + 1
      with(alu(AluOp::add, 5, 6), twice),                                         // src is the dst before: 2 + 2
      with(gemm(0, 3, kPushNext), [](isa::UopLoop& loop) { loop.iter_in = 0; }),  // an empty step
      stored,                                                                     // 2 rows of 12 bytes
      finish()};  // 13 instructions of 2 beats: 6 * 4 + 2

  Counters expected;
  expected.sram_of(Memory::uop) = {.reads = 2 + 6 + 3 + 4 + 3 + 2, .writes = 6};
  expected.sram_of(Memory::inp) = {.reads = 6, .writes = 5};
  expected.sram_of(Memory::wgt) = {.reads = 6, .writes = 6};
  expected.sram_of(Memory::acc) = {.reads = 2 + 6 + 3 + 5 + 4 + 4, .writes = 6 + 2 + 6 + 3 + 4 + 3 + 2};
  expected.sram_of(Memory::out) = {.reads = 6, .writes = 26};
  expected.port = {through_port(1 + 4, 3 + 12), through_port(1 + 2, 3 + 4), through_port(2, 4)};
  expected.fetch = through_port(7, 26);
  expected.gemm_uops = 6;
  expected.gemm_reset_uops = 2;
  expected.macs = 6 * 16;
  expected.alu_uops_by_op[static_cast<std::size_t>(AluOp::add)] = 3 + 2;
  expected.alu_uops_by_op[static_cast<std::size_t>(AluOp::max)] = 4;
  expected.alu_uops_by_op[static_cast<std::size_t>(AluOp::mul)] = 3;
  check_events(config, program, image(config, uops, 4 * kDramBase), expected);
}

TEST_CASE("events of extensions and of elements larger than a beat, counted by hand") {
  // Beats of 8 bytes, bursts of at most 32; UOP has 4 bytes, INP, OUT and ACC8 16, ACC 64, WGT 256.
  const auto config = isa::load_config("1x16x16-ext").value();
  const std::vector<isa::Uop> uops{{0, 2, 0}, {3, 2, 0}, {1, 2, 0}, {0, 0, 0}};
  auto overwrite = gemm(3, 4, kPopPrev);
  std::get<isa::Gemm>(overwrite.body).overwrite = true;
  const std::vector<isa::Instruction> program{
      load(Memory::uop, 0, kDramBase / 4, 4),                   // 2 beats
      load(Memory::acc, 0, 2 * kDramBase / 64, 4),              // 32
      load(Memory::acc8, 4, 2 * kDramBase / 16, 3),             // 6
      load(Memory::inp, 0, 2 * kDramBase / 16, 1),              // 2
      load(Memory::wgt, 0, 2 * kDramBase / 256, 1, kPushNext),  // 32
      overwrite,                                                // reads ACC, and does not use it
      // Scale in 2, bias in 3: read with the first, kept for the second, which writes 3, read again for the third.
      alu(AluOp::requant, 0, 3, kPushNext),       // 3 + 1 + 3
      store(0, 3 * kDramBase / 16, 2, kPopPrev),  // 2 elements of 2 beats: a read of OUT for each
      finish()};                                  // 9 instructions of 2 beats: one burst

  Counters expected;
  expected.sram_of(Memory::uop) = {.reads = 4, .writes = 4};
  expected.sram_of(Memory::inp) = {.reads = 1, .writes = 1};
  expected.sram_of(Memory::wgt) = {.reads = 1, .writes = 1};
  expected.sram_of(Memory::acc) = {.reads = 1 + 7, .writes = 4 + 3 + 1 + 3};
  expected.sram_of(Memory::out) = {.reads = 4, .writes = 11};
  expected.port = {through_port(2, 34), through_port(3, 40), through_port(1, 4)};
  expected.fetch = through_port(1, 18);
  expected.gemm_uops = 1;
  expected.macs = 256;
  expected.alu_uops_by_op[static_cast<std::size_t>(AluOp::requant)] = 3;
  check_events(config, program, image(config, uops, 3 * kDramBase), expected);
}

TEST_CASE("events of a table, counted by hand") {
  // Beats of 8 bytes, bursts of at most 4; INP, OUT and ACC8 have 4 bytes, ACC 16, TAB 512.
  const auto config = isa::load_config("tiny,table=true").value();
  const std::vector<isa::Uop> uops{{0, 2, 0}, {1, 2, 0}};
  const std::vector<isa::Instruction> program{load(Memory::uop, 0, kDramBase / 4, 2),       // 1 beat
                                              load(Memory::acc, 0, 2 * kDramBase / 16, 3),  // 6 beats in 2 bursts
                                              load(Memory::tab, 0, 2 * kDramBase / 512, 1),
                                              alu_imm(AluOp::table, 3, 0, 2),  // 2 steps
                                              alu(AluOp::tableu, 0, 2),        // the source repeats: 2 + 1 reads
                                              alu_imm(AluOp::table, 0, 0, 0, kPushNext),  // an empty step
                                              store(0, 3 * kDramBase / 4, 2, kPopPrev),
                                              finish()};

  Counters expected;
  expected.sram_of(Memory::uop) = {.reads = 4, .writes = 2};
  expected.sram_of(Memory::acc) = {.reads = 2 + 3, .writes = 3 + 4};
  expected.sram_of(Memory::out) = {.reads = 2, .writes = 7};
  expected.sram_of(Memory::tab) = {.reads = 4, .writes = 64};
  expected.port = {through_port(0, 0), through_port(1 + 2 + 16, 1 + 6 + 64), through_port(1, 1)};
  expected.fetch = through_port(4, 16);
  expected.alu_uops_by_op[static_cast<std::size_t>(AluOp::table)] = 2;
  expected.alu_uops_by_op[static_cast<std::size_t>(AluOp::tableu)] = 2;
  check_events(config, program, image(config, uops, 4 * kDramBase), expected);
}

TEST_CASE("events of an epilogue, counted by hand") {
  // Beats of 8 bytes; UOP has 4 bytes, INP 16, OUT 16, WGT 256, TAB 512.
  const auto config = isa::load_config("1x16x16-ext,table=true,epilogue=true").value();
  // after the loops, parameters: WGT element 1, first with and then without the table.
  const std::vector<isa::Uop> uops{{0, 0, 0}, {1, 0, 1}, {1, 0, 1}, {0, 0, 1}};
  const auto gemmq = [](std::uint32_t begin, std::uint32_t end, isa::DependencyFlags tokens) {
    isa::GemmQ body;
    body.uop_begin = begin;
    body.uop_end = end;
    body.iter_in = 3;
    body.iter_out = 1;
    body.dst_factor_in = 2;
    return isa::Instruction{tokens, body};
  };
  const std::vector<isa::Instruction> program{
      load(Memory::uop, 0, kDramBase / 4, 4),                   // 2 beats
      load(Memory::tab, 0, 2 * kDramBase / 512, 1),             // 64 in 2 bursts
      load(Memory::inp, 0, 2 * kDramBase / 16, 1),              // 2
      load(Memory::wgt, 0, 2 * kDramBase / 256, 2, kPushNext),  // 64 in 2 bursts
      with(reset(0, 2, kPopPrev), [](isa::UopLoop& loop) { loop.iter_in = 3, loop.dst_factor_in = 2; }),  // 6 steps
      gemmq(0, 2, {}),                                                              // 3 times 2 steps with the table
      gemmq(2, 3, {}),                                                              // 3 without
      with(gemmq(0, 2, kPushNext), [](isa::UopLoop& loop) { loop.iter_out = 0; }),  // no parameters
      store(0, 3 * kDramBase / 16, 2, kPopPrev),
      finish()};

  Counters expected;
  expected.sram_of(Memory::uop) = {.reads = 6 + (1 + 6) + (1 + 3), .writes = 4};
  expected.sram_of(Memory::inp) = {.reads = 9, .writes = 1};
  expected.sram_of(Memory::wgt) = {.reads = 9 + 2, .writes = 2};
  expected.sram_of(Memory::acc) = {.reads = 6 + 9, .writes = 6 + 9};
  expected.sram_of(Memory::out) = {.reads = 4, .writes = 15};
  expected.sram_of(Memory::tab) = {.reads = 6, .writes = 64};
  expected.port = {through_port(1 + 2, 2 + 64), through_port(1 + 2, 2 + 64), through_port(1, 4)};
  expected.fetch = through_port(1, 20);
  expected.gemm_uops = 9;
  expected.gemm_reset_uops = 6;
  expected.epilogue_uops = 9;
  expected.epilogue_parameters = 2;
  expected.epilogue_lookups = 6;
  expected.macs = 9 * 256;
  check_events(config, program, image(config, uops, 4 * kDramBase), expected);
}

}  // namespace dovetail::simulator::testing
