// The ALU operations as a table. Everything that engines, verifier, compiler, assembler, the SystemVerilog package and
// the random tests need about an operation, except its meaning (isa/semantics/alu.h), is in its row.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "isa/instruction.h"
#include "isa/spec/timing.h"

namespace dovetail::isa::spec {

// The kind of an ALU instruction, docs/reference/timing.md, section 9: when its steps write, and whether a step waits
// for the preceding one.
enum class AluKind : std::uint8_t {
  alu,       // one cycle of work: written in the cycle after the last read, in time for the next step
  alu_long,  // four cycles of work: a step waits for a result that it reads (interlock)
};

// The immediate's name in assembly, and its role: the second operand of a step, in place of acc[src], or a parameter in
// addition to acc[src], in which case use_imm must be 0.
struct AluImmediate {
  std::string_view word, doc;
  bool is_operand = false;
};
inline constexpr AluImmediate kOperandImmediate{"imm", "the second operand", true};
inline constexpr AluImmediate kNoImmediate{"unused_imm", {}};  // the bits have no effect

// What the result of a lane depends on, in addition to the lane itself and the operands.
enum class AluScope : std::uint8_t {
  lane,   // nothing
  table,  // the memory TAB
  row,    // the lanes of acc[dst] in its batch row, which all have the same result; source_elements is 0
};

struct AluOpInfo {
  AluOp op;
  std::string_view name;
  bool HardwareConfig::*enabled_by;  // nullptr: part of the base instruction set
  AluKind kind;
  std::uint32_t source_elements;        // read from acc[src] on by a step without immediate operand
  const TimingConstant* vector_cycles;  // cycles of such a step; of each batch row, if `serial`
  bool commutes;                        // op(a, b) == op(b, a)
  AluImmediate immediate;
  std::string_view doc;         // a = acc[dst], b = use_imm ? imm : acc[src]
  std::string_view notes = {};  // added below the reference's table
  AluScope scope = AluScope::lane;
  bool serial = false;  // one unit serves all batch rows, one after the other
};

// clang-format off
inline constexpr std::array kAluOps{
    AluOpInfo{AluOp::min, "min", nullptr, AluKind::alu, 1, &kAluCyclesPerUopVector, true, kOperandImmediate, "min(a, b)"},
    AluOpInfo{AluOp::max, "max", nullptr, AluKind::alu, 1, &kAluCyclesPerUopVector, true, kOperandImmediate, "max(a, b)"},
    AluOpInfo{AluOp::add, "add", nullptr, AluKind::alu, 1, &kAluCyclesPerUopVector, true, kOperandImmediate, "a + b, wrapping"},
    AluOpInfo{AluOp::shr, "shr", nullptr, AluKind::alu, 1, &kAluCyclesPerUopVector, false, kOperandImmediate,
              "b >= 0: a >> min(b, 31), arithmetic; b < 0: a << min(-b, 31)"},
    AluOpInfo{AluOp::mul, "mul", nullptr, AluKind::alu_long, 1, &kAluCyclesPerUopVector, true, kOperandImmediate, "low 32 bits of a * b"},
    AluOpInfo{AluOp::requant, "requant", &HardwareConfig::requant, AluKind::alu_long, 2, &kAluCyclesPerUopRequant, false,
              {"zero_point", "what is added after scaling"},
              "clamp_int32(round_half_even((a + acc[src + 1]) * s) + imm), s the binary32 in acc[src]; use_imm must be 0",
              "REQUANT reads its scale s as sign, exponent e and m = (e = 0 ? 0 : 2^23 + fraction) from the lane of acc[src]: the value is "
              "±m * 2^(e - 150) for all bit patterns, so there is no NaN and no infinity, and subnormals are 0. The bias is the int32 in the lane of "
              "acc[src + 1]; a + bias wraps. The product is exact, rounded once to the nearest integer, ties to even; imm is added and the sum "
              "clamped to int32."},
    AluOpInfo{AluOp::table, "table", &HardwareConfig::table, AluKind::alu_long, 1, &kAluCyclesPerUopVector, true, kOperandImmediate,
              "entry clamp_int8(a + b) + 128 of the table, sign-extended",
              "TABLE and TABLEU read entry clamp_int8(a + b) + 128 of the table in TAB: the first is that of -128 and below, the last that of 127 "
              "and above; a + b wraps. An entry has 16 bits, which are sign-extended or zero-extended. The clamp is that of a result of REQUANT, "
              "which therefore needs no MIN and MAX before a table.", AluScope::table},
    AluOpInfo{AluOp::tableu, "tableu", &HardwareConfig::table, AluKind::alu_long, 1, &kAluCyclesPerUopVector, true, kOperandImmediate,
              "entry clamp_int8(a + b) + 128 of the table, zero-extended", {}, AluScope::table},
    AluOpInfo{AluOp::requant8, "requant8", &HardwareConfig::norm, AluKind::alu_long, 2, &kAluCyclesPerUopRequant, false,
              {"zero_point", "what is added after scaling"}, "clamp_int8 of the result of requant; use_imm must be 0"},
    AluOpInfo{AluOp::sqadd, "sqadd", &HardwareConfig::norm, AluKind::alu_long, 1, &kAluCyclesPerUopVector, false, kOperandImmediate,
              "a + b * b, wrapping"},
    AluOpInfo{AluOp::rmax, "rmax", &HardwareConfig::norm, AluKind::alu_long, 0, &kAluCyclesPerUopRow, false, kNoImmediate,
              "in every lane, the maximum of a over the lanes of the batch row; use_imm must be 0",
              "RMAX, RADD, RECIP and RSQRT compute one number for each batch row of acc[dst] and write it to every lane of the row. They read no "
              "other element, and src has no effect.", AluScope::row},
    AluOpInfo{AluOp::radd, "radd", &HardwareConfig::norm, AluKind::alu_long, 0, &kAluCyclesPerUopRow, false, kNoImmediate,
              "in every lane, the sum of a over the lanes of the batch row, wrapping; use_imm must be 0", {}, AluScope::row},
    AluOpInfo{AluOp::recip, "recip", &HardwareConfig::norm, AluKind::alu_long, 0, &kRecipCyclesPerRow, false,
              {"exponent", "the result is 2^N / x"},
              "in every lane, the binary32 of 2^imm / x, x = lane 0 of the batch row, unsigned; 0 for x = 0; use_imm must be 0",
              "The result of RECIP and RSQRT is a scale for REQUANT: rounded to nearest with 24 bits, 0 below 2^-126, and 0x7fffffff, the largest "
              "scale, where the exponent exceeds 255. RSQRT divides by q = floor(sqrt(x * 2^24)) * 2^-12, the root that operators of the integer form "
              "use. The cycles of both are for each batch row.", AluScope::row, true},
    AluOpInfo{AluOp::rsqrt, "rsqrt", &HardwareConfig::norm, AluKind::alu_long, 0, &kRsqrtCyclesPerRow, false,
              {"exponent", "the result is 2^N / q"},
              "in every lane, the binary32 of 2^imm / q, q the square root of x = lane 0 of the batch row, unsigned; 0 for x = 0; use_imm must be 0",
              {}, AluScope::row, true},
};
// clang-format on

inline constexpr std::size_t kMaxAluOps = 16;  // alu_opcode has three bits, and a fourth with the extension `norm`
inline constexpr std::uint32_t kMaxSourceElements = 2;  // a third source would need one more phase of stage R in hw/rtl

static_assert(
    [] {
      for (std::size_t i = 0; i < kAluOps.size(); ++i)
        if (static_cast<std::size_t>(kAluOps[i].op) != i) return false;
      return kAluOps.size() <= kMaxAluOps;
    }(),
    "kAluOps is indexed by AluOp and fits four bits");
static_assert(
    [] {
      for (const AluOpInfo& row : kAluOps)
        if (row.source_elements > kMaxSourceElements || (row.source_elements == 0) != (row.scope == AluScope::row) ||
            (!row.serial && row.vector_cycles->value != std::int64_t{row.source_elements} + 1))
          return false;
      return true;
    }(),
    "ACC has one read port: a step takes a cycle per source element, and one for the destination");

constexpr std::string_view name(AluKind kind) {
  switch (kind) {
    case AluKind::alu: return "alu";
    case AluKind::alu_long: return "alu_long";
  }
  return {};
}
// Cycles from a step's last read to its write.
constexpr const TimingConstant& read_to_write(AluKind kind) {
  switch (kind) {
    case AluKind::alu: return kAluReadToWrite;
    case AluKind::alu_long: return kAluLongReadToWrite;
  }
  return kAluReadToWrite;  // not a valid kind
}

constexpr bool is_alu_op(AluOp op) { return static_cast<std::size_t>(op) < kAluOps.size(); }
// Precondition: is_alu_op(op).
constexpr const AluOpInfo& info(AluOp op) { return kAluOps[static_cast<std::size_t>(op)]; }

// Defined for all values, as the verifier sees operations that do not exist: they count as kind alu.
constexpr bool takes_immediate(AluOp op) { return !is_alu_op(op) || info(op).immediate.is_operand; }
constexpr bool is_enabled(const AluOpInfo& row, const HardwareConfig& config) {
  return row.enabled_by == nullptr || config.*row.enabled_by;
}

constexpr bool reads_table(AluOp op) { return is_alu_op(op) && info(op).scope == AluScope::table; }

// The number of ACC elements, from acc[src] on, that a step of the instruction reads; 0: the operand is the immediate.
// Defined for all values.
constexpr std::uint32_t source_elements(const Alu& alu) {
  if (alu.use_imm && takes_immediate(alu.op)) return 0;
  return is_alu_op(alu.op) ? info(alu.op).source_elements : 1;
}

// The cycles of a step that reads all its operands. Precondition: is_alu_op(alu.op).
constexpr std::uint64_t step_cycles(const Alu& alu, std::int64_t batch) {
  const AluOpInfo& row = info(alu.op);
  const std::int64_t cycles =
      alu.use_imm && takes_immediate(alu.op) ? kAluCyclesPerUopImm.value : row.vector_cycles->value;
  return static_cast<std::uint64_t>(row.serial ? cycles * batch : cycles);
}

}  // namespace dovetail::isa::spec
