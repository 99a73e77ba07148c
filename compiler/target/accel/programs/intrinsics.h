// The accelerator's tensor intrinsics as library rows: each is its own specification as a loop program over
// [batch][block] elements.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "compiler/target/accel/programs/core.h"
#include "isa/instruction.h"
#include "loops/intrinsic.h"

namespace dovetail::accel {

// Memory scopes of the accelerator, as buffers name them.
inline constexpr const char* kInpScope = "accel.inp";
inline constexpr const char* kWgtScope = "accel.wgt";
inline constexpr const char* kAccScope = "accel.acc";
inline constexpr const char* kTabScope = "accel.tab";

// Rows for GEMM and for each operation of isa::spec::kAluOps that the configuration has:
//   accel.gemm (D, X, W)        D += X . W^T
//   accel.tap (D, X, W)         D += X * W lane by lane, W the tap of each lane: a product of WINDOW, whose taps are
//                               reduction loops around it
//   accel.epilogue (D, A, P[, T])   D = the byte of OUT for the sum A, int32, with the parameters P: only after the
//                               products that complete A, and only STORE reads D
//   accel.fill (D; imm)         D = imm
//   accel.<op> (D, A, S)        D = op(A, S), D and A the same storage
//   accel.<op>_imm (D, A; imm)  D = op(A, imm), where the immediate may be the operand
//   accel.<op> (D, A, S, S1; imm)   where it is an additional parameter: D = requantize(A + S1, bits of S, imm), S and
//                               S1 consecutive elements
//   accel.<op> (D, A, S, T)     where it reads the table, [1][256]: D = T[clamp_int8(A + S) + 128]
//   accel.<op>_imm (D, A, T; imm), accel.<op>_alone (D, A, T)   the same with an immediate, and with the immediate 0
//   accel.<op> (D, A)           where it combines the lanes of a row: row_expression in all lanes of D
//   accel.<op> (D, A; imm)      where a serial unit computes it: serial_expression
loops::IntrinsicTable make_intrinsics(const Core& config);

// The elements of a memory that programs use: all, except that with the extension `window` the last element of WGT has
// the number that means a push.
std::int64_t usable_depth(const Core& config, isa::Memory memory);
// The most micro-ops of a kernel: those of half of their memory, so that two kernels can alternate.
std::int64_t most_kernel_uops(const Core& config);

// The ISA's SHR as an expression: right by min(s, 31) for s >= 0, else left by min(-s, 31). int32.
loops::Expr shr_expression(loops::Expr a, loops::Expr s);

// What RMAX and RADD compute from the lanes of a row, int32.
loops::Expr row_expression(isa::AluOp op, std::int64_t lanes, const std::function<loops::Expr(std::int64_t)>& lane);
// What RECIP and RSQRT compute: 2^exponent / x and 2^exponent / sqrt(x), as the bits of a binary32, with the root of
// isa/semantics/norm.h. They read lane 0, so a program may use them where all lanes of a row are equal. Precondition:
// 0 < x < 2^28 for RECIP, 0 < x for RSQRT.
loops::Expr serial_expression(isa::AluOp op, const loops::Expr& x, const loops::Expr& exponent);

// The result of an epilogue (isa/semantics/epilogue.h) for the sum `acc`; `parameter`(k): byte k of its row of block_in
// bytes. All rows have the same zero point and bounds.
loops::Expr epilogue_expression(const loops::Expr& acc, std::int64_t block_in,
                                const std::function<loops::Expr(std::size_t)>& parameter);

// The entry of a table, an int8 or wider index from -128 on: TABLE or TABLEU, by the type of the entries. int32.
loops::Expr table_expression(const loops::Buffer& table, loops::Expr index);

}  // namespace dovetail::accel
