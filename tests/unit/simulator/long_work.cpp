// Instructions with very many steps: executed in slices, with the same values, and stopped within one.
#include <functional>

#include "isa/text.h"
#include "simulator/cycle/cycle.h"
#include "simulator/work_estimate.h"
#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator::testing {

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::uint32_t kMostIterations = 16383;

isa::HardwareConfig small_blocks() {
  isa::HardwareConfig config;
  config.name = "1x1x4";
  config.block_in = 1, config.block_out = 4;
  return config;
}

isa::UopLoop& loop_of(isa::Instruction& instruction) { return *isa::uop_loop(instruction); }

// Micro-ops, operands, `body`, and the first elements of ACC stored.
std::vector<isa::Instruction> program_of(const isa::HardwareConfig& config, std::uint32_t uops,
                                         std::vector<isa::Instruction> body) {
  std::vector<isa::Instruction> program{load(isa::Memory::uop, 0, element_at(config, isa::Memory::uop, 0), uops)};
  const std::uint64_t data = 4096;
  program.push_back(load(isa::Memory::inp, 0, element_at(config, isa::Memory::inp, data), 64));
  program.push_back(load(isa::Memory::wgt, 0, element_at(config, isa::Memory::wgt, data), 64));
  program.push_back(load(isa::Memory::acc, 0, element_at(config, isa::Memory::acc, data), 64));
  program.insert(program.end(), body.begin(), body.end());
  program.push_back(store(0, element_at(config, isa::Memory::out, data), 64));
  return program;
}

}  // namespace

TEST_CASE("loops of more steps than a slice give the same values, by whole rows and by parts of a row") {
  const isa::HardwareConfig config = small_blocks();
  std::vector<isa::Uop> uops;
  for (std::uint32_t i = 0; i < 129; ++i) uops.push_back({i % 7, i % 5, i % 3});
  const Dram dram = image(config, uops, 65536);
  const auto many = [&](isa::Instruction instruction, std::uint32_t outer, std::uint32_t inner,
                        std::uint32_t factor_out, std::uint32_t factor_in) {
    isa::UopLoop& loop = loop_of(instruction);
    loop.iter_out = outer, loop.iter_in = inner;
    loop.dst_factor_out = loop.src_factor_out = factor_out;
    loop.dst_factor_in = factor_in;
    if (auto* gemm = std::get_if<isa::Gemm>(&instruction.body)) gemm->wgt_factor_out = factor_out;
    return instruction;
  };
  isa::Instruction overwriting = gemm(3, 11);
  std::get<isa::Gemm>(overwriting.body).overwrite = true;
  isa::HardwareConfig extended = config;
  extended.overwrite = true;
  SECTION("rows") {
    check_against_reference(config, program_of(config, 129, {many(gemm(0, 129), 40, 300, 1, 0)}), dram);
    check_against_reference(config, program_of(config, 129, {many(alu(isa::AluOp::add, 1, 65), 50, 400, 1, 0)}), dram);
    check_against_reference(extended, program_of(extended, 129, {many(overwriting, 50, kMostIterations, 1, 0)}), dram);
  }
  SECTION("parts of a row") {
    check_against_reference(config, program_of(config, 129, {many(gemm(0, 129), 1, kMostIterations, 0, 0)}), dram);
    check_against_reference(
        config, program_of(config, 129, {many(alu_imm(isa::AluOp::add, 3, 0, 129), 1, kMostIterations, 0, 0)}), dram);
  }
}

TEST_CASE("an instruction of 10^12 steps is stopped within it, and the report says where") {
  const isa::HardwareConfig config = small_blocks();
  std::vector<isa::Uop> uops(2048);
  const Dram dram = image(config, uops, 65536);
  const auto endless = [&](isa::Instruction instruction) {
    isa::UopLoop& loop = loop_of(instruction);
    loop.iter_out = loop.iter_in = kMostIterations;
    return instruction;
  };
  for (const isa::Instruction& body : {endless(gemm(0, 1024)), endless(alu(isa::AluOp::max, 0, 1024)),
                                       endless(alu_imm(isa::AluOp::add, 1, 0, 1024))}) {
    CAPTURE(isa::format_instruction(body));
    auto program = program_of(config, 1024, {body});
    program.pop_back();  // the store does not wait: an engine with a clock starts it first
    CHECK(estimate_work("functional", config, program).steps > std::uint64_t{1} << 37);
    CHECK(estimate_work("functional", config, program).seconds > 100);
    const auto stops = [&](const std::function<std::unique_ptr<Simulator>(Work*)>& make) {
      Work work;
      work.stop("its limit has passed", "raise it");  // before the launch: the first check is one slice of steps later
      Dram memory = dram;
      const auto result = make(&work)->launch(program, memory, 10);
      REQUIRE_FALSE(result.ok());
      CHECK_THAT(to_string(result.errors()),
                 ContainsSubstring("the work was stopped (instruction 14): its limit has passed"));
    };
    stops([&](Work* work) { return make_functional(config, {.work = work}); });
    stops([&](Work* work) { return make_cycle(config, {.work = work}); });
  }
}

TEST_CASE("a reset of 10^12 steps takes time only for its elements") {
  const isa::HardwareConfig config = small_blocks();
  const std::vector<isa::Uop> uops(1024, isa::Uop{3, 0, 0});
  isa::Instruction cleared = reset(0, 1024);
  loop_of(cleared).iter_out = loop_of(cleared).iter_in = kMostIterations;
  Dram dram = image(config, uops, 65536);
  const auto counters = make_functional(config)->launch(program_of(config, 1024, {cleared}), dram);
  REQUIRE(counters.ok());
  CHECK(counters->gemm_reset_uops == std::uint64_t{kMostIterations} * kMostIterations * 1024);
}

TEST_CASE("the steps of a program follow from its fields") {
  isa::Instruction loops = gemm(2, 5);
  loop_of(loops).iter_out = 10, loop_of(loops).iter_in = 7;
  CHECK(steps_of(loops) == 210);
  loop_of(loops).iter_in = 0;
  CHECK(steps_of(loops) == 1);
  CHECK(steps_of(load(isa::Memory::inp, 0, 0, 12)) == 12);
  CHECK(steps_of(nop(isa::Queue::load, {})) == 1);
  CHECK(steps_of(finish()) == 1);
}

}  // namespace dovetail::simulator::testing
