// The tensor intrinsics of NVIDIA's GPUs as library rows; compiler/target/cuda/codegen has the instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "loops/intrinsic.h"
#include "loops/threads/warp_operation.h"

namespace dovetail::cuda {

// mma.sync (PTX ISA, "Matrix fragments for mma"): a warp adds up products of a tile. With r = h * 8 + g in 16 rows and
// c = q * 2 + p in 8 columns, for k in `depth`:
//
//   cuda.mma.NAME (C: [h, g, q, p] in registers, A: [h, g, k] shared, B: [q, p, k] shared)
//                                                     C[h, g, q, p] += wide(A[h, g, k]) * wide(B[q, p, k])
//
// The row tf32 states the products of its factors as they are stored; the instruction rounds these first, and so it is
// taken where the user allows that (Gpu::tf32) alone.
//
// Rows are two axes, and columns too, because lanes hold them so: a program's rows h * 8 + g may be anywhere apart.
//
// wgmma.mma_async ("Asynchronous warpgroup level matrix instructions"): four warps do so for 64 rows and up to 256
// columns. With r = w * 16 + h * 8 + g, w the warp, and c = f * 8 + q * 2 + p,
//
//   cuda.wgmma.NAME (C: [w, h, g, f, q, p] in registers, A: [w, h, g, k] shared, B: [f, q, p, k] shared)
//                                          C[w, h, g, f, q, p] += wide(A[w, h, g, k]) * wide(B[f, q, p, k])
//
// It completes later (Completion::commit_wait), and reads A and B from shared memory as loops/core/core.h, CoreMatrix,
// says. Of 16-bit factors the depth or the rows are adjacent, of bytes the depth. One side's bytes may be unsigned.
// There is none of TF32: it would cut the factors off where they are stored, and rounds none.
struct MatrixMultiply {
  DType left, right;   // of A, of B
  DType sum;           // of C
  std::int64_t depth;  // bytes of a row of A: 32
  const char* kind;    // of the factors as they are multiplied: tf32 has 11 bits of a float32
  std::int64_t rows = 16, columns = 8;
  bool of_group() const { return rows == 64; }  // four warps, sm_90a alone
  bool rounds_factors() const { return left == DType::float32; }
  std::string name() const;
};
inline constexpr std::int64_t kMmaRows = 16, kMmaColumns = 8, kGroupRows = 64;

// Where factors of these types are multiplied, and added up in `sum`; nullopt: no instruction does.
std::optional<MatrixMultiply> find_matrix_multiply(DType left, DType right, DType sum);
std::optional<MatrixMultiply> find_group_multiply(DType left, DType right, DType sum, std::int64_t columns);
// Of groups of warps, of any factors.
std::vector<MatrixMultiply> group_multiplies();
std::optional<MatrixMultiply> find_matrix_multiply(std::string_view name);

const loops::IntrinsicTable& intrinsics();
// The same, with their layouts read.
const std::vector<loops::WarpOperation>& warp_operations();

}  // namespace dovetail::cuda
