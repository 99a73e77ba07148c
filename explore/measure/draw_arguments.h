// Arguments to run a task's program with when there is no model: random numbers for which the program is defined, and
// whose results distinguish a wrong kernel from a right one. They depend only on the program and the seed.
//
//   floats     in [-1, 1), so that sums do not overflow; those that are divided by, or whose root or logarithm is
//              taken, in [1/16, 1)
//   scales     of requantize: positive, and such that the sums of the program come to about half the range of int8
//   integers   over the full range of their type, but those that an index follows from: within the buffer; divisors: 1
//              or more; amounts of shifts: less than the type's bits; what is added to int32 sums: no larger than those
#pragma once

#include <cstdint>
#include <vector>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::explore {

// Inputs and constants, in parameter order.
std::vector<NdArray> draw_arguments(const loops::Program& program, std::uint64_t seed);

}  // namespace dovetail::explore
