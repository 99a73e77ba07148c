// binary16 and bfloat16 from and to binary32. NaNs keep their sign and the upper bits of their payload. Written in the
// subset of C++ that device compilers accept too (loops/scalar/operations.h): NVIDIA's have instructions for binary16,
// which round to nearest even as this code does, and give all NaNs one payload.
#pragma once

#include <cstdint>

namespace dovetail::float16_bits {

inline std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
inline float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

inline float from_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return float_of(sign | 0x7f800000u | (fraction << 13));
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return float_of(sign | bits_of(magnitude));
  }
  return float_of(sign | ((exponent + 112) << 23) | (fraction << 13));
#endif
}

inline std::uint16_t to_float16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    const std::uint32_t payload = (magnitude >> 13) & 0x3ffu;
    return static_cast<std::uint16_t>(sign | 0x7c00u | (payload != 0 ? payload : 0x200u));
  }
#ifdef __CUDA_ARCH__
  std::uint16_t rounded;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
  return rounded;
#else
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // at least 2^16
  if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);  // below 2^-25, half the least subnormal
  // The significand with its hidden bit, and how many of its low bits do not fit the result.
  const std::uint32_t exponent = magnitude >> 23;
  const bool normal = exponent >= 113;
  const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t dropped_bits = normal ? 13 : 126 - exponent;
  const std::uint32_t kept = significand >> dropped_bits;
  const std::uint32_t rest = significand & ((1u << dropped_bits) - 1);
  const std::uint32_t half = 1u << (dropped_bits - 1);
  const std::uint32_t round_up = rest > half || (rest == half && (kept & 1) != 0);
  // For a normal number the hidden bit in `kept` adds one to the exponent; a carry out of the fraction does so too, up
  // to infinity.
  const std::uint32_t base = normal ? (exponent - 113) << 10 : 0;
  return static_cast<std::uint16_t>(sign | (base + kept + round_up));
#endif
}

// Packs two values that are not NaN, the second in the upper half.
inline std::uint32_t to_two_float16(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return to_float16(low) | static_cast<std::uint32_t>(to_float16(high)) << 16;
#endif
}

inline float from_bfloat16(std::uint16_t bits) { return float_of(static_cast<std::uint32_t>(bits) << 16); }

inline std::uint16_t to_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    const std::uint32_t payload_lost = ((bits >> 16) & 0x7fu) == 0;
    return static_cast<std::uint16_t>((bits >> 16) | (payload_lost ? 0x40u : 0u));
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline std::uint32_t to_two_bfloat16(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
#else
  return to_bfloat16(low) | static_cast<std::uint32_t>(to_bfloat16(high)) << 16;
#endif
}

}  // namespace dovetail::float16_bits
