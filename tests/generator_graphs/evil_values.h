// Values at which arithmetic fails first: NaN, infinities, zeros of both signs, the ends of each type, values whose
// square overflows or underflows, and neighbors that cancel.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "tests/generator_graphs/draw.h"

namespace dovetail::test {

// clang-format off
inline constexpr double kEvilReals[] = {
    __builtin_nan(""), __builtin_inf(), -__builtin_inf(), -0.0, 0.0,
    1.401298464324817e-45, -1.1754942106924411e-38,  // the smallest and the largest denormal of binary32
    1.1754943508222875e-38,                          // the smallest normal number
    3.4028234663852886e+38, -3.4028234663852886e+38, // FLT_MAX, as in masks
    65504, -65504, 1e30, -1e30, 1e20, 1e-20, -1e-30, 1e6, -1e6,
    1, 0.99999994, 1.0000001, -1,                    // cancel each other except for the last place
    16777216, 16777217, 2147483648.0, -2147483648.0, 9.223372036854776e18,  // ends of exact and of integer types
    0.5, 1.5, 2.5, -0.5, 88.8, -104, 127.5, 128, -128.5};  // ties; where exp overflows and underflows; ends of int8
inline constexpr std::int64_t kEvilIntegers[] = {
    0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 32767, -32768, 65535,
    INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, std::int64_t{1} << 32, 64, 31};
// clang-format on

enum class Temper : std::uint8_t {
  plain,  // small numbers of few digits
  mixed,  // one value in four is evil
  evil,   // all values are evil
};

// A value of the type; only the evil values contain integers that exceed every index.
inline void draw_value(Draw& draw, Temper temper, NdArray& array, std::int64_t position) {
  const bool evil = temper == Temper::evil || (temper == Temper::mixed && draw.one_in(4));
  const auto any = [&](const auto& table) {
    return table[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(std::size(table)) - 1))];
  };
  if (is_floating(array.dtype()))
    array.set_double(position, evil ? any(kEvilReals) : static_cast<double>(draw.between(-64, 64)) / 16);
  else if (array.dtype() == DType::boolean) array.set_int64(position, draw.between(0, 1));
  else array.set_int64(position, evil ? any(kEvilIntegers) : draw.between(0, 3));
}

inline NdArray draw_array(Draw& draw, Temper temper, DType dtype, const Shape& shape) {
  NdArray array(dtype, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) draw_value(draw, temper, array, i);
  return array;
}

}  // namespace dovetail::test
