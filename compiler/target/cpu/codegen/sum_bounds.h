// Bounds of the integer elements of a buffer, derived from the types of the initial values and terms that blocks write:
// a sum of nine products of bytes always fits in 18 bits.
#pragma once

#include <map>
#include <string>

#include "loops/ir.h"

namespace dovetail::cpu {

// The largest magnitudes, by buffer name; only for allocations, and only if no sum can wrap.
std::map<std::string, double> sum_bounds(const loops::Program& program);

}  // namespace dovetail::cpu
