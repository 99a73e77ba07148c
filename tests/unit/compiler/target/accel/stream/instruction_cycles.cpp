// The computed cost of ALU instructions, by the rules for repeated operands of docs/reference/timing.md, section 9.
#include "compiler/target/accel/stream/instruction_cycles.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/catch.h"

namespace dovetail::accel {

namespace {

constexpr std::uint32_t kOut = 5, kIn = 7, kSteps = kOut * kIn;
constexpr std::uint32_t kConstants = 1000;  // beyond all destinations

// Each step has its own destination.
isa::Alu alu(isa::AluOp op, std::uint32_t src_factor_out, std::uint32_t src_factor_in) {
  isa::Alu alu;
  alu.op = op;
  alu.iter_out = kOut;
  alu.iter_in = kIn;
  alu.dst_factor_out = kIn;
  alu.dst_factor_in = 1;
  alu.src_factor_out = src_factor_out;
  alu.src_factor_in = src_factor_in;
  return alu;
}

std::uint64_t cycles_of(const isa::Alu& alu, std::vector<isa::Uop> uops = {{.dst = 0, .src = kConstants}}) {
  Stream stream;
  const StreamInstruction item{{{}, alu}, stream.kernel(std::move(uops))};
  return instruction_cycles(isa::HardwareConfig{}, stream, item);
}

}  // namespace

TEST_CASE("instruction_cycles: steps of an ALU instruction that read the previous step's element take a cycle less") {
  const auto add = [](std::uint32_t out, std::uint32_t in) { return alu(isa::AluOp::add, out, in); };
  CHECK(cycles_of(add(1, 1)) == 2 * kSteps);
  CHECK(cycles_of(add(0, 1)) == 2 * kSteps);
  CHECK(cycles_of(add(1, 0)) == kSteps + kOut);
  CHECK(cycles_of(add(0, 0)) == kSteps + 1);
  CHECK(cycles_of(alu(isa::AluOp::requant, 1, 0)) == kSteps + 2 * kOut);
  CHECK(cycles_of(alu(isa::AluOp::requant, 0, 0)) == kSteps + 2);
}

TEST_CASE("instruction_cycles: a loop of one iteration does not determine the element that the next step reads") {
  isa::Alu column = alu(isa::AluOp::add, 0, 1), row = alu(isa::AluOp::add, 1, 0);
  column.iter_in = 1;
  row.iter_out = 1;
  CHECK(cycles_of(column) == kOut + 1);
  CHECK(cycles_of(row) == kIn + 1);
}

TEST_CASE("instruction_cycles: several micro-ops alternate, so no step repeats") {
  CHECK(cycles_of(alu(isa::AluOp::add, 0, 0),
                  {{.dst = 0, .src = kConstants}, {.dst = kSteps, .src = kConstants + 1}}) == 2 * 2 * kSteps);
}

TEST_CASE("instruction_cycles: a step with an immediate reads only its destination") {
  isa::Alu immediate = alu(isa::AluOp::add, 1, 1);
  immediate.use_imm = true;
  CHECK(cycles_of(immediate) == kSteps);
}

}  // namespace dovetail::accel
