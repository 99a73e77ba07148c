// Sums of integer products in binary32, if they are proven small enough that no step of the sum rounds: a float
// multiply-add is one instruction, one of 32-bit integers is three.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loops/ir.h"

namespace dovetail::cpu {

// All partial sums of block `main` must have a magnitude below this.
inline constexpr std::int64_t kFloatSum = std::int64_t{1} << 22;

// Sums start at 1.5 * 2^23 instead of 0, around which floats are integers: subtracting that number's bits from a sum's
// bits gives the integer sum. nullopt if `main` does not sum int32 products from 0 into an allocation. Precondition:
// the bound kFloatSum holds, and each factor's magnitude is below it.
std::optional<loops::Program> sum_in_floats(const loops::Program& program, const std::string& main);

}  // namespace dovetail::cpu
