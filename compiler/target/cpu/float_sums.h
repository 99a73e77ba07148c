// Sums of integer products in binary32, where these are proven to be so small that no step of the sum rounds: a
// multiply-add of floats is one instruction, that of 32-bit integers three.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "loops/ir.h"

namespace dovetail::cpu {

// The magnitude that all partial sums of block `main` must stay below.
inline constexpr std::int64_t kFloatSum = std::int64_t{1} << 22;

// Sums start at 1.5 * 2^23 instead of 0, around which floats are integers: their bits less those of that number are the
// sum, at the price of a subtraction. nullopt where `main` does not sum int32 products up from 0 into an allocation.
// Precondition: what kFloatSum says holds, and each factor's magnitude is below it.
std::optional<loops::Program> sum_in_floats(const loops::Program& program, const std::string& main);

}  // namespace dovetail::cpu
