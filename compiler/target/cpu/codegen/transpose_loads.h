// Loads that are contiguous across the copies of an unrolled loop but strided across vector lanes become transpositions
// in registers:
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

// The name of the call: operand 0 is t [rows, lanes], operand 1 is x, whose axes are rows (contiguous in memory) and
// lanes. Internal to the code generator: schedules cannot name it.
inline constexpr const char* kTranspose = "x86.transpose";

// Number of bytes of a row that are read at once.
inline constexpr std::int64_t kTransposedBytes = 16;

// Loads that may not run, on one side of a select, are kept, as are loads from buffers that the statement writes.
loops::CoreProgram transpose_loads(loops::CoreProgram program);

}  // namespace dovetail::cpu
