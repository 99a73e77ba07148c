// Sums over many int8 values, several at a time, as the compiler computes them for every weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dovetail {

// The sum of |value - from|, both counted from the lowest value: compilers recognize unsigned byte distances and add a
// vector of them in one instruction. A fixed count per step needs no remainder loop. Compilers do not recognize the
// pattern if `from` is a constant, hence noinline. Not std::abs of a difference: GCC 12 for AArch64 then takes the
// bytes for signed.
[[gnu::noinline]] inline std::int64_t sum_of_distances(std::span<const std::int8_t> values, std::int8_t from) {
  constexpr std::size_t kTogether = 64;
  const auto from_lowest = [](std::int8_t value) { return static_cast<std::uint8_t>(value ^ INT8_MIN); };
  const std::uint8_t other = from_lowest(from);
  const auto distance = [&](std::int8_t value) {
    const std::uint8_t own = from_lowest(value);
    return static_cast<std::uint8_t>(own > other ? own - other : other - own);
  };
  std::int64_t total = 0;
  for (; values.size() >= kTogether; values = values.subspan(kTogether)) {
    std::int32_t distances = 0;
    for (std::size_t i = 0; i < kTogether; ++i) distances += distance(values[i]);
    total += distances;
  }
  for (const std::int8_t value : values) total += distance(value);
  return total;
}

inline std::int64_t sum(std::span<const std::int8_t> values) {
  return sum_of_distances(values, INT8_MIN) + INT8_MIN * static_cast<std::int64_t>(values.size());
}

}  // namespace dovetail
