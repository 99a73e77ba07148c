// Counts of arithmetic in a loop program.
#pragma once

#include <cstdint>

#include "base/saturating.h"
#include "loops/ir.h"

namespace dovetail::loops {

// Arithmetic operations of a program, a multiply-add counted as two: additions, subtractions, multiplications,
// divisions, minima and maxima of stored values times the iterations of their blocks. Moves are not counted, and
// neither are int64 values, which usually are indices. All counts saturate at 2^64 - 1.
struct Operations {
  std::uint64_t floating = 0, integer = 0;
  std::uint64_t macs = 0;  // the multiply-adds of reductions; each product with its addition counts as one

  std::uint64_t all() const { return saturating_sum(floating, integer); }
};
Operations count_operations(const Program& program);

// The steps of a run, for work estimates (docs/reference/trust-and-limits.md), at most: except for loops that data may
// end, of which one iteration counts. Steps are operations on single
// values of every type, including comparisons and selections, each store at least one; index arithmetic is not counted.
// A shared expression counts once.
std::uint64_t count_steps(const Program& program);

// Whether a value depends on a function that mathematics libraries round differently: exp, erf, pow and similar ones.
// All other operations have one result if each operation is rounded separately.
bool calls_mathematics(const Program& program);
// Whether a block reduces floating-point values, so that their order matters.
bool reduces_floats(const Program& program);

}  // namespace dovetail::loops
