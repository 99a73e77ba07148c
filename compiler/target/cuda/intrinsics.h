// The tensor intrinsics of NVIDIA's GPUs as library rows; compiler/target/cuda/codegen emits their instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "loops/intrinsic.h"
#include "loops/threads/warp_operation.h"

namespace dovetail::cuda {

// mma.sync (PTX ISA, "Matrix fragments for mma"): a warp accumulates the products of a tile. With r = h * 8 + g for 16
// rows and c = q * 2 + p for 8 columns, for k in `depth`:
//
//   cuda.mma.NAME (C: [h, g, q, p] in registers, A: [h, g, k] shared, B: [q, p, k] shared)
//                                                     C[h, g, q, p] += wide(A[h, g, k]) * wide(B[q, p, k])
//
// The row tf32 specifies the products of its factors as stored; each lane rounds them first, so it is only used if the
// user allows that (Gpu::tf32).
//
// Rows and columns are two axes each, because lanes hold them that way: a program's rows h * 8 + g may be at any
// distance.
//
// wgmma.mma_async ("Asynchronous warpgroup level matrix instructions"): four warps do the same for 64 rows and up to
// 256 columns. With r = w * 16 + h * 8 + g, w the warp, and c = f * 8 + q * 2 + p,
//
//   cuda.wgmma.NAME (C: [w, h, g, f, q, p] in registers, A: [w, h, g, k] shared, B: [f, q, p, k] shared)
//                                          C[w, h, g, f, q, p] += wide(A[w, h, g, k]) * wide(B[f, q, p, k])
//
// It completes later (Completion::commit_wait), and reads A and B from shared memory as specified by CoreMatrix in
// loops/core/core.h. For 16-bit factors the depth or the rows are contiguous, for others the depth. The bytes of one
// side may be unsigned. The instruction truncates factors of row tf32 to TF32's 11 bits: it is only used for factors
// that the program has rounded (compiler/prepare/round_factors.h), which it multiplies as stored.
struct MatrixMultiply {
  DType left, right;   // of A, of B
  DType sum;           // of C
  std::int64_t depth;  // bytes of a row of A: 32
  const char* kind;    // of the multiplied factors: tf32 has 11 bits of a float32
  std::int64_t rows = 16, columns = 8;
  bool of_group() const { return rows == 64; }  // four warps, sm_90a only
  bool rounds_factors() const { return left == DType::float32; }
  std::string name() const;
};
inline constexpr std::int64_t kMmaRows = 16, kMmaColumns = 8, kGroupRows = 64;

// The instruction that multiplies factors of these types and accumulates in `sum`; nullopt: none.
std::optional<MatrixMultiply> find_matrix_multiply(DType left, DType right, DType sum);
std::optional<MatrixMultiply> find_group_multiply(DType left, DType right, DType sum, std::int64_t columns);
// The instructions of groups of warps, for all factors.
std::vector<MatrixMultiply> group_multiplies();
std::optional<MatrixMultiply> find_matrix_multiply(std::string_view name);

const loops::IntrinsicTable& intrinsics();
// The same, with parsed layouts.
const std::vector<loops::WarpOperation>& warp_operations();

}  // namespace dovetail::cuda
