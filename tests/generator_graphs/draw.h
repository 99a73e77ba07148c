// Seeded random draws: the same on every platform and every standard library that has mt19937_64.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/ndarray.h"

namespace dovetail::test {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool coin() { return between(0, 1) == 1; }
  bool one_in(std::int64_t count) { return between(1, count) == 1; }
  template <typename T>
  T one_of(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  NdArray int8(const Shape& shape, std::int64_t low = -128, std::int64_t high = 127) {
    NdArray array(DType::int8, shape);
    for (auto& value : array.data<std::int8_t>()) value = static_cast<std::int8_t>(between(low, high));
    return array;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dovetail::test
