// Sums over many int8 values, several at a time: what the compiler asks of every weight.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace dovetail {

// The sum of term(value). Precondition: |term(value)| <= 2^14. Lanes of int32, which compilers make vectors of, take at
// most 2^16 terms each at a time.
template <typename Term>
std::int64_t sum_of(std::span<const std::int8_t> values, const Term& term) {
  constexpr std::size_t kLanes = 16, kMost = kLanes << 16;
  std::int64_t total = 0;
  while (!values.empty()) {
    const std::size_t count = std::min(kMost, values.size()), whole = count - count % kLanes;
    std::int32_t lanes[kLanes] = {};
    for (std::size_t i = 0; i < whole; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(values[i + lane]);
    for (std::size_t i = whole; i < count; ++i) total += term(values[i]);
    for (const std::int32_t lane : lanes) total += lane;
    values = values.subspan(count);
  }
  return total;
}

inline std::int64_t sum(std::span<const std::int8_t> values) {
  return sum_of(values, [](std::int8_t value) { return std::int32_t{value}; });
}

// The sum of |value - from|. Precondition: |from| <= 255.
inline std::int64_t sum_of_distances(std::span<const std::int8_t> values, std::int32_t from) {
  return sum_of(values, [from](std::int8_t value) { return std::abs(value - from); });
}

}  // namespace dovetail
