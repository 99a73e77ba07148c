// ALU: acc[dst] = op(acc[dst], use_imm ? imm : acc[src]), lane by lane on int32, or for each batch row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "isa/instruction.h"
#include "isa/semantics/norm.h"
#include "isa/semantics/requant.h"
#include "isa/semantics/store.h"
#include "isa/semantics/table.h"
#include "isa/semantics/wrap.h"
#include "isa/spec/alu_ops.h"

namespace dovetail::isa::semantics {

// Defined for all amounts: >= 0 shifts right arithmetically by min(amount, 31), < 0 shifts left by min(-amount, 31).
constexpr std::int32_t shr(std::int32_t value, std::int32_t amount) {
  const std::uint32_t right = std::min(bits(amount), 31u);      // used for amount >= 0
  const std::uint32_t left = std::min(0u - bits(amount), 31u);  // used for amount < 0; -2^31 becomes 2^31, capped
  return amount >= 0 ? value >> right : wrap(bits(value) << left);
}

// An operation's inputs in addition to acc[dst], for one lane. REQUANT: the scale's bits in acc[src], the bias in
// acc[src + 1], and the immediate as zero point.
struct AluOperands {
  std::int32_t source = 0;  // acc[src], or the immediate if use_imm is 1
  std::int32_t next = 0;    // acc[src + 1]
  std::int32_t imm = 0;
  const std::uint16_t* table = nullptr;  // the entries in TAB
  std::span<const std::int32_t> row{};   // the lanes of acc[dst] in the batch row, for operations of AluScope::row
};

// read(k): the lane of acc[src + k], called for the elements that the instruction reads. `table`: the entries in TAB,
// for the operations that read it; `row`: for those of AluScope::row. Precondition: is_alu_op(op).
template <typename Read>
constexpr AluOperands alu_operands(const Alu& alu, Read&& read, const std::uint16_t* table = nullptr,
                                   std::span<const std::int32_t> row = {}) {
  const std::uint32_t elements = spec::source_elements(alu);
  AluOperands operands{.source = alu.imm, .imm = alu.imm, .table = table, .row = row};
  if (elements > 0) operands.source = read(0);
  if (elements > 1) operands.next = read(1);
  return operands;
}

template <AluOp op>
constexpr std::int32_t alu(std::int32_t acc, AluOperands operands) {
  if constexpr (op == AluOp::min) return std::min(acc, operands.source);
  if constexpr (op == AluOp::max) return std::max(acc, operands.source);
  if constexpr (op == AluOp::add) return wrapping_add(acc, operands.source);
  if constexpr (op == AluOp::shr) return shr(acc, operands.source);
  if constexpr (op == AluOp::mul) return wrapping_mul(acc, operands.source);
  if constexpr (op == AluOp::requant) return requant(acc, operands.next, bits(operands.source), operands.imm);
  if constexpr (op == AluOp::table) return static_cast<std::int16_t>(table_entry(acc, operands.source, operands.table));
  if constexpr (op == AluOp::tableu) return table_entry(acc, operands.source, operands.table);
  if constexpr (op == AluOp::requant8) return narrow_saturate(alu<AluOp::requant>(acc, operands));
  if constexpr (op == AluOp::sqadd) return square_add(acc, operands.source);
  if constexpr (op == AluOp::rmax) return row_maximum(operands.row);
  if constexpr (op == AluOp::radd) return row_sum(operands.row);
  if constexpr (op == AluOp::recip) return wrap(reciprocal(bits(operands.row[0]), operands.imm));
  if constexpr (op == AluOp::rsqrt) return wrap(root_reciprocal(bits(operands.row[0]), operands.imm));
}

constexpr std::int32_t alu(AluOp op, std::int32_t acc, AluOperands operands) {
  switch (op) {
    case AluOp::min: return alu<AluOp::min>(acc, operands);
    case AluOp::max: return alu<AluOp::max>(acc, operands);
    case AluOp::add: return alu<AluOp::add>(acc, operands);
    case AluOp::shr: return alu<AluOp::shr>(acc, operands);
    case AluOp::mul: return alu<AluOp::mul>(acc, operands);
    case AluOp::requant: return alu<AluOp::requant>(acc, operands);
    case AluOp::table: return alu<AluOp::table>(acc, operands);
    case AluOp::tableu: return alu<AluOp::tableu>(acc, operands);
    case AluOp::requant8: return alu<AluOp::requant8>(acc, operands);
    case AluOp::sqadd: return alu<AluOp::sqadd>(acc, operands);
    case AluOp::rmax: return alu<AluOp::rmax>(acc, operands);
    case AluOp::radd: return alu<AluOp::radd>(acc, operands);
    case AluOp::recip: return alu<AluOp::recip>(acc, operands);
    case AluOp::rsqrt: return alu<AluOp::rsqrt>(acc, operands);
  }
  return acc;  // not an AluOp
}

}  // namespace dovetail::isa::semantics
