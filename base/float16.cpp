// binary16 and bfloat16 (declared in base/ndarray.h).
#include <cstdint>

#include "base/float16_bits.h"
#include "base/ndarray.h"

namespace dovetail {

float float16_to_float(std::uint16_t bits) { return float16_bits::from_float16(bits); }
std::uint16_t float_to_float16(float value) { return float16_bits::to_float16(value); }
float bfloat16_to_float(std::uint16_t bits) { return float16_bits::from_bfloat16(bits); }
std::uint16_t float_to_bfloat16(float value) { return float16_bits::to_bfloat16(value); }

}  // namespace dovetail
