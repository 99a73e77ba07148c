// GEMM and ALU in whole programs: every configuration, operation and loop shape.
#include <vector>

#include "isa/semantics/window.h"
#include "tests/catch.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::simulator::testing {

namespace {

constexpr std::uint32_t kElements = 8;  // of each memory that a program here uses

// Loads `uops`, kElements random elements of INP, WGT and ACC, and with `table` a random table, runs `body`, and stores
// ACC.
void check(const isa::HardwareConfig& config, const std::vector<isa::Uop>& uops,
           const std::vector<isa::Instruction>& body, std::uint32_t seed = 1) {
  const auto bytes = [&](isa::Memory memory) { return static_cast<std::uint64_t>(config.element_bytes(memory)); };
  const std::uint64_t data = uops.size() * bytes(isa::Memory::uop);
  const Dram dram = image(config, uops,
                          2 * kElements * (bytes(isa::Memory::wgt) + bytes(isa::Memory::acc)) +
                              4 * kElements * bytes(isa::Memory::inp) + 2 * bytes(isa::Memory::tab),
                          seed);
  std::vector<isa::Instruction> program{
      load(isa::Memory::uop, 0, element_at(config, isa::Memory::uop, 0), static_cast<std::uint32_t>(uops.size()))};
  for (isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    program.push_back(load(memory, 0, element_at(config, memory, data), kElements));
  if (config.table) program.push_back(load(isa::Memory::tab, 0, element_at(config, isa::Memory::tab, data), 1));
  program.insert(program.end(), body.begin(), body.end());
  program.push_back(store(0, element_at(config, isa::Memory::out, data), kElements));
  // The low 8 bits show little of the 32: shift the others down and store them too.
  for (std::uint32_t i = 1; i < 4; ++i) {
    isa::Instruction shift = alu_imm(isa::AluOp::shr, 8, 0, 1);
    auto& all = std::get<isa::Alu>(shift.body);
    all.iter_in = kElements;
    all.dst_factor_in = 1;
    program.push_back(shift);
    program.push_back(
        store(0, element_at(config, isa::Memory::out, data + i * kElements * bytes(isa::Memory::out)), kElements));
  }
  check_against_reference(config, program, dram);
}

bool fits(const isa::HardwareConfig& config) {
  for (isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc})
    if (config.depth(memory) < kElements) return false;
  return true;
}

// Micro-op 0 is all zeros, as `check` needs; then some that repeat a destination and some that do not.
const std::vector<isa::Uop> kUops{{0, 0, 0}, {1, 2, 3}, {1, 3, 2}, {4, 0, 1}, {0, 1, 1}, {4, 2, 0}, {4, 2, 0}};

}  // namespace

TEST_CASE("gemm accumulates, resets and overwrites, over both loops") {
  for (const isa::HardwareConfig& config : all_configs()) {
    if (!fits(config)) continue;
    for (std::uint32_t iterations : {0u, 1u, 2u}) {
      isa::Instruction many = gemm(0, 7), one = gemm(3, 4), cleared = reset(2, 5);
      for (isa::Instruction* instruction : {&many, &one, &cleared}) {
        auto& body = std::get<isa::Gemm>(instruction->body);
        body.iter_out = iterations, body.iter_in = 2;
        body.dst_factor_out = 2, body.dst_factor_in = 1, body.src_factor_out = 1, body.src_factor_in = 3;
        body.wgt_factor_out = 3, body.wgt_factor_in = 1;
      }
      check(config, kUops, {many, one});
      check(config, kUops, {many, cleared, one});
      if (!config.overwrite) continue;
      std::get<isa::Gemm>(many.body).overwrite = true;
      check(config, kUops, {many, one});
    }
  }
}

TEST_CASE("window multiplies the last elements, over both loops") {
  for (isa::HardwareConfig config : all_configs()) {
    if (!fits(config) || config.block_in != config.block_out || config.block_in == 1) continue;
    config.window = true;
    std::vector<isa::Uop> uops = kUops;
    const std::uint32_t push = isa::semantics::push_only(config);
    for (const std::size_t k : {1, 2, 5}) uops[k].wgt = push;
    for (const bool overwrite : {false, true}) {
      if (overwrite && !config.overwrite) continue;
      for (const std::uint32_t iterations : {0u, 1u, 2u}) {
        isa::Window many;
        many.uop_end = 7, many.iter_out = iterations, many.iter_in = 2;
        many.dst_factor_out = 2, many.dst_factor_in = 1, many.src_factor_out = 1, many.src_factor_in = 3;
        many.wgt_factor_out = 3, many.wgt_factor_in = 1;
        many.overwrite = overwrite;
        isa::Window pushes = many;  // its window does not outlive it
        pushes.uop_begin = 1, pushes.uop_end = 3;
        check(config, uops, {{{}, many}, gemm(3, 4), {{}, pushes}, {{}, many}});
      }
    }
  }
}

TEST_CASE("gemm wraps around") {
  for (const isa::HardwareConfig& config : all_configs()) {
    if (!fits(config)) continue;
    // Doubling ACC 25 times leaves its low bits at the top: the next products overflow.
    std::vector<isa::Instruction> program;
    for (int i = 0; i < 25; ++i) program.push_back(alu(isa::AluOp::add, 0, 1));
    isa::Instruction again = gemm(0, 1);
    std::get<isa::Gemm>(again.body).iter_out = 4000;
    program.push_back(again);
    check(config, {{0, 0, 0}}, program);
  }
}

TEST_CASE("every ALU operation, with an immediate and with a vector") {
  for (isa::HardwareConfig config : all_configs()) {
    if (!fits(config)) continue;
    config.table = config.requant = config.norm = true;
    for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps) {
      const isa::AluOp op = row.op;
      CAPTURE(row.name);
      if (row.source_elements == 0) {
        for (std::int32_t imm : {0, 1, -1, 24, -100, 140, 32767, -32768}) {
          isa::Instruction instruction = alu(op, 0, 7);
          std::get<isa::Alu>(instruction.body).imm = imm;
          check(config, kUops, {instruction});
          check(config, kUops, {alu_imm(isa::AluOp::shr, 21, 1, 4), instruction});
        }
      }
      if (!isa::spec::takes_immediate(row.op)) continue;
      for (std::int32_t imm : {0, 1, -1, 5, -7, 32767, -32768}) check(config, kUops, {alu_imm(op, imm, 0, 7)});
      isa::Instruction vector = alu(op, 1, 7);
      auto& body = std::get<isa::Alu>(vector.body);
      body.iter_out = 2, body.iter_in = 2, body.dst_factor_out = 1, body.dst_factor_in = 2, body.src_factor_out = 2,
      body.src_factor_in = 1;
      check(config, kUops, {vector});
      // A small amount, so that not all vector shifts saturate.
      check(config, kUops, {alu_imm(isa::AluOp::shr, 26, 1, 2), alu_imm(isa::AluOp::shr, 27, 3, 4), vector});
      std::get<isa::Alu>(vector.body).reset = true;  // VTA has the bit; it has no effect
      check(config, kUops, {vector});
    }
  }
}

TEST_CASE("shifts by every immediate from -40 to 40 and by the extremes") {
  const isa::HardwareConfig config;
  std::vector<std::int32_t> amounts{-32768, -1000, 1000, 32767};
  for (std::int32_t amount = -40; amount <= 40; ++amount) amounts.push_back(amount);
  for (std::int32_t amount : amounts) {
    CAPTURE(amount);
    check(config, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}}, {alu_imm(isa::AluOp::shr, amount, 0, 3)});
    // The same amount as a vector: ACC 3 becomes the amount.
    check(config, {{0, 3, 0}, {1, 3, 0}, {3, 3, 0}},
          {alu_imm(isa::AluOp::mul, 0, 2, 3), alu_imm(isa::AluOp::add, amount, 2, 3), alu(isa::AluOp::shr, 0, 2)});
  }
}

TEST_CASE("requant reads the scale and, in the element after it, the bias") {
  for (isa::HardwareConfig config : all_configs()) {
    if (!fits(config)) continue;
    config.requant = true;
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
      isa::Instruction instruction = alu(isa::AluOp::requant, 0, 7);
      std::get<isa::Alu>(instruction.body).imm = static_cast<std::int32_t>(seed * 3333) % 65536 - 32768;
      check(config, kUops, {instruction}, seed);
      std::get<isa::Alu>(instruction.body).uop_end = 5;
      // Exponents near 2^-10 give results within range: keep sign and fraction, and add to an exponent of 0.
      check(config, {{0, 2, 0}, {1, 2, 0}, {2, 2, 0}, {4, 2, 0}, {5, 2, 0}},
            {alu_imm(isa::AluOp::shr, 9, 2, 3), alu_imm(isa::AluOp::max, 0, 2, 3), alu_imm(isa::AluOp::add, 117, 2, 3),
             alu_imm(isa::AluOp::shr, -12, 2, 3), alu_imm(isa::AluOp::shr, -11, 2, 3), instruction},
            seed);
    }
  }
}

}  // namespace dovetail::simulator::testing
