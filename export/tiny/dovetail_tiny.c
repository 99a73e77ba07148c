/* The larger functions of dovetail_tiny.h. */
#include "dovetail_tiny.h"

uint64_t dovetail_pow_u64(uint64_t a, uint64_t b) {
  uint64_t result = 1;
  for (; b != 0; b >>= 1, a *= a)
    if ((b & 1) != 0) result *= a;
  return result;
}

int64_t dovetail_pow_i64(int64_t a, int64_t b) {
  if (b >= 0) return (int64_t)dovetail_pow_u64((uint64_t)a, (uint64_t)b);
  return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
}

float dovetail_f16_to_f32(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  const uint32_t exponent = bits >> 10 & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return dovetail_from_bits_f32(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) return dovetail_from_bits_f32(sign | dovetail_bits_f32((float)fraction * 5.9604644775390625e-8f));
  return dovetail_from_bits_f32(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t dovetail_f32_to_f16(float a) {
  const uint32_t bits = dovetail_bits_f32(a), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  const uint32_t exponent = magnitude >> 23, significand = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t dropped, kept, rest, half, base;
  if (magnitude > 0x7f800000u) { /* NaN */
    const uint32_t payload = magnitude >> 13 & 0x3ffu;
    return (uint16_t)(sign | 0x7c00u | (payload != 0 ? payload : 0x200u));
  }
  if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* at least 2^16 */
  if (magnitude < 0x33000000u) return (uint16_t)sign;              /* below half the least subnormal */
  dropped = exponent >= 113 ? 13 : 126 - exponent;
  kept = significand >> dropped;
  rest = significand & ((1u << dropped) - 1);
  half = 1u << (dropped - 1);
  base = exponent >= 113 ? (exponent - 113) << 10 : 0;
  return (uint16_t)(sign | (base + kept + (rest > half || (rest == half && (kept & 1) != 0))));
}

uint16_t dovetail_f32_to_bf16(float a) {
  const uint32_t bits = dovetail_bits_f32(a);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | ((bits >> 16 & 0x7fu) == 0 ? 0x40u : 0u));
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float dovetail_odd_u64(uint64_t a) {
  float unit = 1;
  for (; a >> 24 != 0; unit *= 2) a = a >> 1 | (a & 1);
  return (float)(uint32_t)a * unit;
}

float dovetail_odd_i64(int64_t a) { return a < 0 ? -dovetail_odd_u64(0 - (uint64_t)a) : dovetail_odd_u64((uint64_t)a); }

#if DBL_MANT_DIG == 53
float dovetail_odd_f64(double a) {
  const float result = (float)a;
  const uint32_t bits = dovetail_bits_f32(result);
  if (dovetail_is_nan_f32(result) || dovetail_is_inf_f32(result) || (double)result == a || (bits & 1) != 0)
    return result;
  return dovetail_from_bits_f32((result > 0 ? (double)result > a : (double)result < a) ? bits - 1 : bits + 1);
}
#endif
