// How much arithmetic a loop program holds.
#pragma once

#include <cstdint>

#include "loops/ir.h"

namespace dovetail::loops {

// Arithmetic operations of a program, a multiply-add counted as two: additions, subtractions, multiplications,
// divisions, minima and maxima of stored values times the iterations of their blocks. Moves count nothing.
struct Operations {
  std::uint64_t floating = 0, integer = 0;
  std::uint64_t macs = 0;  // among them, products that a reduction adds up, each with its addition one
};
Operations count_operations(const Program& program);

}  // namespace dovetail::loops
