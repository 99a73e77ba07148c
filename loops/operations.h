// How much arithmetic a loop program holds.
#pragma once

#include <cstdint>

#include "base/saturating.h"
#include "loops/ir.h"

namespace dovetail::loops {

// Arithmetic operations of a program, a multiply-add counted as two: additions, subtractions, multiplications,
// divisions, minima and maxima of stored values times the iterations of their blocks. Moves count nothing, neither do
// int64 values, which most often are indices. All counts stay at 2^64 - 1 where there are more.
struct Operations {
  std::uint64_t floating = 0, integer = 0;
  std::uint64_t macs = 0;  // among them, products that a reduction adds up, each with its addition one

  std::uint64_t all() const { return saturating_sum(floating, integer); }
};
Operations count_operations(const Program& program);

// Steps of a run, at most, for what it takes (docs/reference/trust-and-limits.md): operations on single values of every
// type, comparisons and selections too, each store at least one; those that find an index are not counted. An
// expression that several places hold counts once.
std::uint64_t count_steps(const Program& program);

// Whether a value depends on a function that mathematics libraries round differently: exp, erf, pow and their like. All
// else has one result, where each operation rounds by itself.
bool calls_mathematics(const Program& program);
// Whether a block joins floating values, so that their order counts.
bool reduces_floats(const Program& program);

}  // namespace dovetail::loops
