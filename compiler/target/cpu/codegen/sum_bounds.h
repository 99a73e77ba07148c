// How large the integer elements of a buffer can become, where the types of what blocks start them with and add to them
// say so: nine products of bytes never leave 18 bits.
#pragma once

#include <map>
#include <string>

#include "loops/ir.h"

namespace dovetail::cpu {

// The most that their magnitudes are, by the buffer's name; of allocations alone, and of none whose sums might wrap.
std::map<std::string, double> sum_bounds(const loops::Program& program);

}  // namespace dovetail::cpu
