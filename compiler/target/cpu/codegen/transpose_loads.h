// Loads that go along memory from one copy of an unrolled loop to the next, and across it from lane to lane, become
// transpositions in registers:
//
//   for i in 4 unrolled { for j in 16 vectorized { y[i * 64 + j] = x[j * 64 + i] } }
//
// reads 64 elements one by one. It becomes
//
//   x86.transpose(t, x)
//   for i in 4 unrolled { for j in 16 vectorized { y[i * 64 + j] = t[i, j] } }
//
// with t[i, j] = x[j * 64 + i], which reads 16 vectors of 4 and leaves 4 of 16.
#pragma once

#include <cstdint>

#include "loops/core/core.h"

namespace dovetail::cpu {

// The call's name: operand 0 is t [rows, lanes], operand 1 is x, whose axes are rows, next to one another in memory,
// and lanes. It is an instruction of the code generator's alone: no schedule names it.
inline constexpr const char* kTranspose = "x86.transpose";

// So many bytes of a row are read at once.
inline constexpr std::int64_t kTransposedBytes = 16;

// Loads that may not run, on one side of a select, stay; so do those of what the statement writes.
loops::CoreProgram transpose_loads(loops::CoreProgram program);

}  // namespace dovetail::cpu
