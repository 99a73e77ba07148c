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
// Rows are two axes, and columns too, because lanes hold them so: a program's rows h * 8 + g may lie anywhere apart.
struct MatrixMultiply {
  DType factor;        // of A and B
  DType sum;           // of C
  std::int64_t depth;  // bytes of a row of A: 32
  const char* kind;    // of the factors as they are multiplied: tf32 has 11 bits of a float32
  bool rounds_factors() const { return factor == DType::float32; }
  std::string name() const;
};
inline constexpr std::int64_t kMmaRows = 16, kMmaColumns = 8;

// Where factors of that type are multiplied, and added up in `sum`; nullopt: no instruction does.
std::optional<MatrixMultiply> find_matrix_multiply(DType factor, DType sum);
std::optional<MatrixMultiply> find_matrix_multiply(std::string_view name);

const loops::IntrinsicTable& intrinsics();
// The same, with their layouts read.
const std::vector<loops::WarpOperation>& warp_operations();

}  // namespace dovetail::cuda
