// Decoded instructions and micro-ops. Bit positions live in isa/spec/instructions.h; here is only what an instruction
// means.
#pragma once

#include <cstdint>
#include <variant>

#include "isa/config.h"

namespace dovetail::isa {

enum class Opcode : std::uint8_t { load = 0, store = 1, gemm = 2, finish = 3, alu = 4, window = 5, gemmq = 6 };
// clang-format off
enum class AluOp : std::uint8_t {
  min = 0, max = 1, add = 2, shr = 3, mul = 4, requant = 5, table = 6, tableu = 7,
  requant8 = 8, sqadd = 9, rmax = 10, radd = 11, recip = 12, rsqrt = 13,
};
// clang-format on
enum class Queue : std::uint8_t { load = 0, compute = 1, store = 2 };

// Tokens to and from the neighboring queues; "prev"/"next" in the order load, compute, store.
struct DependencyFlags {
  bool pop_prev = false;
  bool pop_next = false;
  bool push_prev = false;
  bool push_next = false;
  bool operator==(const DependencyFlags&) const = default;
};

// A 2-D strided transfer. Rows are packed in SRAM, and `x_stride` elements apart in DRAM. Pads (LOAD only) surround the
// data in SRAM with zero elements. x_size 0: no data is moved, only tokens.
struct Transfer {
  Memory memory = Memory::inp;
  std::uint32_t sram_base = 0;                                       // element index
  std::uint64_t dram_base = 0;                                       // physical byte address / element bytes
  std::uint32_t y_size = 0, x_size = 0, x_stride = 0;                // elements
  std::uint32_t y_pad_0 = 0, y_pad_1 = 0, x_pad_0 = 0, x_pad_1 = 0;  // top, bottom, left, right
  bool offset = false;  // extension: the register OFFSET is added to the address (isa/offset.h)
  bool operator==(const Transfer&) const = default;
};
struct Load : Transfer {
  bool operator==(const Load&) const = default;
};
struct Store : Transfer {
  bool saturate = false;  // extension: clamp to the output width instead of keeping the low bits
  bool operator==(const Store&) const = default;
};

// The loop nest shared by GEMM, GEMMQ, WINDOW and ALU: for y < iter_out, x < iter_in, micro-op in [uop_begin, uop_end).
struct UopLoop {
  std::uint32_t uop_begin = 0, uop_end = 0;
  std::uint32_t iter_out = 0, iter_in = 0;
  std::uint32_t dst_factor_out = 0, dst_factor_in = 0;
  std::uint32_t src_factor_out = 0, src_factor_in = 0;
  bool operator==(const UopLoop&) const = default;
};
// The loop nest of instructions that multiply INP by WGT.
struct ProductLoop : UopLoop {
  bool overwrite = false;  // extension: acc[dst] = the products instead of +=
  std::uint32_t wgt_factor_out = 0, wgt_factor_in = 0;
  bool operator==(const ProductLoop&) const = default;
};
struct Gemm : ProductLoop {
  bool reset = false;  // acc[dst] = 0; operands are not read
  bool operator==(const Gemm&) const = default;
};
// Extension: depthwise products of the last INP elements (isa/semantics/window.h).
struct Window : ProductLoop {
  bool requant = false;  // extension: ends with the epilogue, as GEMMQ does
  bool operator==(const Window&) const = default;
};
// Extension: GEMM with an epilogue (isa/semantics/epilogue.h).
struct GemmQ : ProductLoop {
  bool operator==(const GemmQ&) const = default;
};
struct Alu : UopLoop {
  bool reset = false;  // encoded as in VTA, has no effect
  AluOp op = AluOp::add;
  bool use_imm = false;
  std::int32_t imm = 0;  // second operand, or the parameter that the operation defines (spec::AluOpInfo::immediate)
  bool operator==(const Alu&) const = default;
};
struct Finish {
  bool operator==(const Finish&) const = default;
};

struct Instruction {
  DependencyFlags flags;
  std::variant<Load, Store, Gemm, Finish, Alu, Window, GemmQ> body;  // alternatives in opcode order

  Opcode opcode() const { return static_cast<Opcode>(body.index()); }
  Queue queue() const;  // INP, WGT and WGT4 loads: load; STORE: store; everything else: compute
  bool operator==(const Instruction&) const = default;
};

// The instruction's loop nest; null unless it is a GEMM, GEMMQ, WINDOW or ALU.
UopLoop* uop_loop(Instruction& instruction);
const UopLoop* uop_loop(const Instruction& instruction);
// Null unless the instruction multiplies INP by WGT.
const ProductLoop* product_loop(const Instruction& instruction);

// Whether products end with the epilogue. The micro-op after those of the loop then selects the epilogue's parameters.
bool has_epilogue(const Instruction& instruction);

// wgt is unused by ALU micro-ops.
struct Uop {
  std::uint32_t dst = 0, src = 0, wgt = 0;
  bool operator==(const Uop&) const = default;
};

}  // namespace dovetail::isa
