// FNV-1a, 64 bits (draft-eastlake-fnv): to derive seeds from names, and for cache keys. Not resistant to attacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace dovetail {

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t basis = 0xcbf29ce484222325) {
  for (const char c : text) basis = (basis ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return basis;
}

// Adds texts one after another, kept apart: adding "ab" differs from adding "a", then "b".
class Hash {
 public:
  void add(std::string_view text) { value_ = fnv1a("\xff", fnv1a(text, value_)); }
  // Sixteen hexadecimal digits.
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = fnv1a({});
};

}  // namespace dovetail
