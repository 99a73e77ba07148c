// Bytes per cycle as an exact fraction, so that every engine computes the same cycles.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

namespace dovetail::simulator {

struct ByteRate {
  std::int64_t bytes = 0, cycles = 1;  // in lowest terms; 0 bytes: the width of the bus

  ByteRate() = default;
  ByteRate(std::int64_t of_bytes, std::int64_t per_cycles = 1)  // NOLINT: a number of bytes per cycle
      : bytes(of_bytes / std::gcd(of_bytes, per_cycles)), cycles(per_cycles / std::gcd(of_bytes, per_cycles)) {}

  bool is_bus() const { return bytes == 0; }
  bool is_whole() const { return cycles == 1; }
  double value() const { return static_cast<double>(bytes) / static_cast<double>(cycles); }
  bool operator==(const ByteRate&) const = default;
};

inline constexpr int kRateDecimals = 6;
inline constexpr std::int64_t kMostRate = 1 << 20;

// "8", "0.5", "36.571428": a decimal number from 0 to kMostRate with at most kRateDecimals decimals, exactly. nullopt:
// the text is none.
std::optional<ByteRate> parse_byte_rate(std::string_view text);
std::string to_string(const ByteRate& rate);  // parse_byte_rate's inverse

}  // namespace dovetail::simulator
