/* The arithmetic of programs that `dovetail export` writes, in C99. No allocation, no input or output, no state, no
 * recursion; the C library is needed for memcpy alone. The file is the same for every program: several of them in one
 * project share it.
 *
 * The functions are named after their operation and the type of their operands: i32 and u32 stand for types of up to 32
 * bits, i64 and u64 for the others, f32 and f64 for binary32 and binary64. Their definition is that of Dovetail's loop
 * programs:
 *
 *   - Integers wrap. Signed sums are computed in unsigned types, so that no overflow is undefined.
 *   - Shifts are arithmetic. An amount outside the type gives 0, or -1 for the right shift of a negative number.
 *   - div and mod truncate, floor_div and floor_mod round toward minus infinity; the least integer divided by -1 wraps.
 *   - A minimum or maximum of floats is NaN if an operand is NaN.
 *   - A float becomes an integer by truncation and saturation, and NaN becomes 0.
 *
 * What the compiler must provide beyond C99 is checked below: two's complement and binary floating-point formats.
 * Each operation on floats has to be rounded to its type: GCC and Clang need -ffp-contract=off for that. */
#pragma once

#include <float.h>
#include <stdint.h>
#include <string.h>

#if FLT_RADIX != 2 || FLT_MANT_DIG != 24
#error "dovetail_tiny.h needs a float in the format binary32"
#endif
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2)
#error "this compiler computes float in a wider type; on x86, add -msse2 -mfpmath=sse"
#endif
typedef char dovetail_needs_twos_complement[(int32_t)UINT32_MAX == -1 && (int8_t)UINT8_MAX == -1 ? 1 : -1];

/* A kernel: compiled as a function of its own, so that the memory of its operands is used for other tensors only before
 * and after the call. */
#if defined(__GNUC__)
#define DOVETAIL_KERNEL static __attribute__((noinline)) void
#else
#define DOVETAIL_KERNEL static void
#endif

/* Before a loop of at most 4 iterations: at all levels of optimization, it is written out. */
#if defined(__clang__)
#define DOVETAIL_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define DOVETAIL_UNROLL _Pragma("GCC unroll 4")
#else
#define DOVETAIL_UNROLL
#endif

/* ---- Integers ---- */

static inline int32_t dovetail_add_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static inline int64_t dovetail_add_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int32_t dovetail_sub_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
static inline int64_t dovetail_sub_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int32_t dovetail_mul_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
static inline int64_t dovetail_mul_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Precondition of all divisions: b is not 0. */
static inline int32_t dovetail_div_i32(int32_t a, int32_t b) { return b == -1 ? dovetail_sub_i32(0, a) : a / b; }
static inline int64_t dovetail_div_i64(int64_t a, int64_t b) { return b == -1 ? dovetail_sub_i64(0, a) : a / b; }
static inline int32_t dovetail_mod_i32(int32_t a, int32_t b) { return b == -1 ? 0 : a % b; }
static inline int64_t dovetail_mod_i64(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
static inline int32_t dovetail_floor_div_i32(int32_t a, int32_t b) {
  const int32_t rest = dovetail_mod_i32(a, b);
  return dovetail_sub_i32(dovetail_div_i32(a, b), rest != 0 && (rest < 0) != (b < 0));
}
static inline int64_t dovetail_floor_div_i64(int64_t a, int64_t b) {
  const int64_t rest = dovetail_mod_i64(a, b);
  return dovetail_sub_i64(dovetail_div_i64(a, b), rest != 0 && (rest < 0) != (b < 0));
}
static inline int32_t dovetail_floor_mod_i32(int32_t a, int32_t b) {
  const int32_t rest = dovetail_mod_i32(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static inline int64_t dovetail_floor_mod_i64(int64_t a, int64_t b) {
  const int64_t rest = dovetail_mod_i64(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static inline int32_t dovetail_min_i32(int32_t a, int32_t b) { return b < a ? b : a; }
static inline uint32_t dovetail_min_u32(uint32_t a, uint32_t b) { return b < a ? b : a; }
static inline int64_t dovetail_min_i64(int64_t a, int64_t b) { return b < a ? b : a; }
static inline uint64_t dovetail_min_u64(uint64_t a, uint64_t b) { return b < a ? b : a; }
static inline int32_t dovetail_max_i32(int32_t a, int32_t b) { return a < b ? b : a; }
static inline uint32_t dovetail_max_u32(uint32_t a, uint32_t b) { return a < b ? b : a; }
static inline int64_t dovetail_max_i64(int64_t a, int64_t b) { return a < b ? b : a; }
static inline uint64_t dovetail_max_u64(uint64_t a, uint64_t b) { return a < b ? b : a; }

static inline int32_t dovetail_abs_i32(int32_t a) { return a < 0 ? dovetail_sub_i32(0, a) : a; }
static inline int64_t dovetail_abs_i64(int64_t a) { return a < 0 ? dovetail_sub_i64(0, a) : a; }
static inline int32_t dovetail_sign_i32(int32_t a) { return (a > 0) - (a < 0); }
static inline int32_t dovetail_sign_i64(int64_t a) { return (a > 0) - (a < 0); }

static inline int32_t dovetail_shl_i32(int32_t a, int32_t b) {
  return b < 0 || b >= 32 ? 0 : (int32_t)((uint32_t)a << b);
}
static inline uint32_t dovetail_shl_u32(uint32_t a, uint32_t b) { return b >= 32 ? 0 : a << b; }
static inline int64_t dovetail_shl_i64(int64_t a, int64_t b) {
  return b < 0 || b >= 64 ? 0 : (int64_t)((uint64_t)a << b);
}
static inline uint64_t dovetail_shl_u64(uint64_t a, uint64_t b) { return b >= 64 ? 0 : a << b; }
/* C leaves >> of a negative number to the compiler; of its complement it does not. */
static inline int32_t dovetail_shr_i32(int32_t a, int32_t b) {
  if (b < 0 || b >= 32) return a < 0 ? -1 : 0;
  return a < 0 ? ~(~a >> b) : a >> b;
}
static inline uint32_t dovetail_shr_u32(uint32_t a, uint32_t b) { return b >= 32 ? 0 : a >> b; }
static inline int64_t dovetail_shr_i64(int64_t a, int64_t b) {
  if (b < 0 || b >= 64) return a < 0 ? -1 : 0;
  return a < 0 ? ~(~a >> b) : a >> b;
}
static inline uint64_t dovetail_shr_u64(uint64_t a, uint64_t b) { return b >= 64 ? 0 : a >> b; }

/* Powers modulo 2^64. A negative exponent truncates the exact power. Precondition: not 0 to a negative power. */
uint64_t dovetail_pow_u64(uint64_t a, uint64_t b);
int64_t dovetail_pow_i64(int64_t a, int64_t b);

/* ---- Failures that depend on data: the first one is kept, and the kernel continues with a harmless value ---- */

static inline void dovetail_fail(int site, int* failure) {
  if (*failure == 0) *failure = site;
}
/* The index if 0 <= index < extent, else 0. */
static inline int32_t dovetail_index_i32(int32_t index, int32_t extent, int site, int* failure) {
  if (index >= 0 && index < extent) return index;
  dovetail_fail(site, failure);
  return 0;
}
static inline int64_t dovetail_index_i64(int64_t index, int64_t extent, int site, int* failure) {
  if (index >= 0 && index < extent) return index;
  dovetail_fail(site, failure);
  return 0;
}
/* The divisor if it is not 0, else 1. */
static inline int32_t dovetail_divisor_i32(int32_t b, int site, int* failure) {
  if (b != 0) return b;
  dovetail_fail(site, failure);
  return 1;
}
static inline uint32_t dovetail_divisor_u32(uint32_t b, int site, int* failure) {
  if (b != 0) return b;
  dovetail_fail(site, failure);
  return 1;
}
static inline int64_t dovetail_divisor_i64(int64_t b, int site, int* failure) {
  if (b != 0) return b;
  dovetail_fail(site, failure);
  return 1;
}
static inline uint64_t dovetail_divisor_u64(uint64_t b, int site, int* failure) {
  if (b != 0) return b;
  dovetail_fail(site, failure);
  return 1;
}
static inline int64_t dovetail_checked_pow_i64(int64_t a, int64_t b, int site, int* failure) {
  if (a != 0 || b >= 0) return dovetail_pow_i64(a, b);
  dovetail_fail(site, failure);
  return 0;
}

/* ---- Floats: bits, minimum and maximum, rounding without the mathematical library ---- */

static inline uint32_t dovetail_bits_f32(float a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}
static inline float dovetail_from_bits_f32(uint32_t bits) {
  float a;
  memcpy(&a, &bits, sizeof a);
  return a;
}

static inline float dovetail_min_f32(float a, float b) { return b < a || b != b ? b : a; }
static inline float dovetail_max_f32(float a, float b) { return a < b || b != b ? b : a; }
static inline int dovetail_is_nan_f32(float a) { return a != a; }
static inline int dovetail_is_inf_f32(float a) { return (dovetail_bits_f32(a) & 0x7fffffffu) == 0x7f800000u; }
static inline float dovetail_abs_f32(float a) { return dovetail_from_bits_f32(dovetail_bits_f32(a) & 0x7fffffffu); }
static inline float dovetail_sign_f32(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
/* `a` with the sign of `b`. */
static inline float dovetail_with_sign_f32(float a, float b) {
  return dovetail_from_bits_f32((dovetail_bits_f32(a) & 0x7fffffffu) | (dovetail_bits_f32(b) & 0x80000000u));
}
/* Numbers from 2^23 on are integers; so are NaN and infinity for these functions. */
static inline float dovetail_trunc_f32(float a) {
  return dovetail_abs_f32(a) < 8388608.0f ? dovetail_with_sign_f32((float)(int32_t)a, a) : a;
}
static inline float dovetail_floor_f32(float a) {
  const float t = dovetail_trunc_f32(a);
  return t > a ? t - 1.0f : t;
}
static inline float dovetail_ceil_f32(float a) {
  const float t = dovetail_trunc_f32(a);
  return t < a ? dovetail_with_sign_f32(t + 1.0f, a) : t;
}
static inline float dovetail_round_even_f32(float a) {
  const float magnitude = dovetail_abs_f32(a);
  if (!(magnitude < 8388608.0f)) return a;
  return dovetail_with_sign_f32((magnitude + 8388608.0f) - 8388608.0f, a);
}

/* ---- Floats to integers ---- */

static inline int32_t dovetail_f32_to_i32(float a) {
  if (!(a > -2147483648.0f)) return a != a ? 0 : INT32_MIN;
  return a >= 2147483648.0f ? INT32_MAX : (int32_t)a;
}
static inline uint32_t dovetail_f32_to_u32(float a) {
  if (!(a > 0.0f)) return 0;
  return a >= 4294967296.0f ? UINT32_MAX : (uint32_t)a;
}
static inline int64_t dovetail_f32_to_i64(float a) {
  if (!(a > -9223372036854775808.0f)) return a != a ? 0 : INT64_MIN;
  return a >= 9223372036854775808.0f ? INT64_MAX : (int64_t)a;
}
static inline uint64_t dovetail_f32_to_u64(float a) {
  if (!(a > 0.0f)) return 0;
  return a >= 18446744073709551616.0f ? UINT64_MAX : (uint64_t)a;
}
static inline int8_t dovetail_f32_to_i8(float a) {
  if (!(a > -128.0f)) return a != a ? 0 : INT8_MIN;
  return a >= 127.0f ? INT8_MAX : (int8_t)a;
}
static inline uint8_t dovetail_f32_to_u8(float a) {
  if (!(a > 0.0f)) return 0;
  return a >= 255.0f ? UINT8_MAX : (uint8_t)a;
}
static inline int16_t dovetail_f32_to_i16(float a) {
  if (!(a > -32768.0f)) return a != a ? 0 : INT16_MIN;
  return a >= 32767.0f ? INT16_MAX : (int16_t)a;
}
static inline uint16_t dovetail_f32_to_u16(float a) {
  if (!(a > 0.0f)) return 0;
  return a >= 65535.0f ? UINT16_MAX : (uint16_t)a;
}

/* ---- binary16 and bfloat16: stored as 16 bits, computed in binary32 and rounded after every operation ---- */

float dovetail_f16_to_f32(uint16_t bits);
uint16_t dovetail_f32_to_f16(float a);
static inline float dovetail_bf16_to_f32(uint16_t bits) { return dovetail_from_bits_f32((uint32_t)bits << 16); }
uint16_t dovetail_f32_to_bf16(float a);
static inline float dovetail_round_f16(float a) { return dovetail_f16_to_f32(dovetail_f32_to_f16(a)); }
static inline float dovetail_round_bf16(float a) { return dovetail_bf16_to_f32(dovetail_f32_to_bf16(a)); }
/* Integers to binary32, rounded to odd: a second rounding, to 16 bits, then is the only one. */
float dovetail_odd_i64(int64_t a);
float dovetail_odd_u64(uint64_t a);

/* ---- requantize: clamp(round_half_even(acc * scale) + zero_point), the product exact, rounded once ---- */

/* The scale is read by its bits: no infinities or NaN, and subnormals are 0. */
static inline int32_t dovetail_requantize(int32_t acc, float scale, int32_t zero_point) {
  const uint32_t bits = dovetail_bits_f32(scale);
  const int32_t exponent = (int32_t)(bits >> 23 & 0xff);
  const int32_t right = 150 - exponent; /* the scale is m * 2^-right */
  const int64_t m = exponent == 0 ? 0 : (int64_t)((bits & 0x7fffffu) | 0x800000u);
  const int64_t product = (int64_t)acc * ((bits >> 31) != 0 ? -m : m); /* at most 55 bits */
  int64_t result = 0;
  if (right > 55) {
    result = 0;
  } else if (right > 0) {
    const int64_t down = dovetail_shr_i64(product, right);
    const int64_t rest = product - down * ((int64_t)1 << right), half = (int64_t)1 << (right - 1);
    result = down + (rest > half || (rest == half && (down & 1) != 0));
  } else if (product != 0) {
    const int64_t far = (int64_t)1 << 60;
    result = right <= -9 ? (product < 0 ? -far : far) : product * ((int64_t)1 << -right);
  }
  result += zero_point;
  return result < INT32_MIN ? INT32_MIN : result > INT32_MAX ? INT32_MAX : (int32_t)result;
}

/* ---- binary64, where double has that format ---- */

#if DBL_MANT_DIG == 53
static inline uint64_t dovetail_bits_f64(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  return bits;
}
static inline double dovetail_from_bits_f64(uint64_t bits) {
  double a;
  memcpy(&a, &bits, sizeof a);
  return a;
}
static inline double dovetail_min_f64(double a, double b) { return b < a || b != b ? b : a; }
static inline double dovetail_max_f64(double a, double b) { return a < b || b != b ? b : a; }
static inline int dovetail_is_nan_f64(double a) { return a != a; }
static inline int dovetail_is_inf_f64(double a) {
  return (dovetail_bits_f64(a) & 0x7fffffffffffffffu) == 0x7ff0000000000000u;
}
static inline double dovetail_with_sign_f64(double a, double b) {
  const uint64_t sign = 0x8000000000000000u;
  return dovetail_from_bits_f64((dovetail_bits_f64(a) & ~sign) | (dovetail_bits_f64(b) & sign));
}
static inline double dovetail_abs_f64(double a) { return dovetail_with_sign_f64(a, 1.0); }
static inline double dovetail_sign_f64(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }
static inline double dovetail_trunc_f64(double a) {
  return dovetail_abs_f64(a) < 4503599627370496.0 ? dovetail_with_sign_f64((double)(int64_t)a, a) : a;
}
static inline double dovetail_floor_f64(double a) {
  const double t = dovetail_trunc_f64(a);
  return t > a ? t - 1.0 : t;
}
static inline double dovetail_ceil_f64(double a) {
  const double t = dovetail_trunc_f64(a);
  return t < a ? dovetail_with_sign_f64(t + 1.0, a) : t;
}
static inline double dovetail_round_even_f64(double a) {
  const double magnitude = dovetail_abs_f64(a);
  if (!(magnitude < 4503599627370496.0)) return a;
  return dovetail_with_sign_f64((magnitude + 4503599627370496.0) - 4503599627370496.0, a);
}
static inline int32_t dovetail_f64_to_i32(double a) {
  if (!(a > -2147483648.0)) return a != a ? 0 : INT32_MIN;
  return a >= 2147483647.0 ? INT32_MAX : (int32_t)a;
}
static inline uint32_t dovetail_f64_to_u32(double a) {
  if (!(a > 0.0)) return 0;
  return a >= 4294967295.0 ? UINT32_MAX : (uint32_t)a;
}
static inline int64_t dovetail_f64_to_i64(double a) {
  if (!(a > -9223372036854775808.0)) return a != a ? 0 : INT64_MIN;
  return a >= 9223372036854775808.0 ? INT64_MAX : (int64_t)a;
}
static inline uint64_t dovetail_f64_to_u64(double a) {
  if (!(a > 0.0)) return 0;
  return a >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)a;
}
static inline int8_t dovetail_f64_to_i8(double a) {
  if (!(a > -128.0)) return a != a ? 0 : INT8_MIN;
  return a >= 127.0 ? INT8_MAX : (int8_t)a;
}
static inline uint8_t dovetail_f64_to_u8(double a) {
  if (!(a > 0.0)) return 0;
  return a >= 255.0 ? UINT8_MAX : (uint8_t)a;
}
static inline int16_t dovetail_f64_to_i16(double a) {
  if (!(a > -32768.0)) return a != a ? 0 : INT16_MIN;
  return a >= 32767.0 ? INT16_MAX : (int16_t)a;
}
static inline uint16_t dovetail_f64_to_u16(double a) {
  if (!(a > 0.0)) return 0;
  return a >= 65535.0 ? UINT16_MAX : (uint16_t)a;
}
/* To binary32, rounded to odd, as above. */
float dovetail_odd_f64(double a);
#endif
