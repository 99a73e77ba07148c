// Arguments to run a task's program with when there is no model: random numbers for which the program is defined, and
// whose results distinguish a wrong kernel from a right one. They depend only on the program and the seed.
//
//   floats     in [-1, 1), so that sums do not overflow; divisors, and operands of roots and logarithms, in
//              [1/16, 1)
//   scales     of requantize: positive, and such that the sums of the program come to about half the range of int8
//   integers   over the full range of their type, except: indices are within the buffer; divisors are at least 1;
//              amounts of shifts are less than the type's bits; addends of int32 sums are not larger than the sums
#pragma once

#include <cstdint>
#include <vector>

#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::explore {

// The inputs and constants, in parameter order.
std::vector<NdArray> draw_arguments(const loops::Program& program, std::uint64_t seed);

}  // namespace dovetail::explore
