// Changes of bytes without knowledge of a format.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/target.h"

namespace dovetail::test {

// Makes one to four changes: bits, boundary values, pieces removed, repeated and taken from `other`.
inline Bytes mutate_bytes(std::span<const std::byte> bytes, std::span<const std::byte> other, std::mt19937_64& random,
                          std::size_t most) {
  constexpr std::array<std::uint64_t, 14> kNumbers{0,     1,     127,        128,        255,        256,        32767,
                                                   65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 63, ~0ULL};
  Bytes result(bytes.begin(), bytes.end());
  const auto below = [&](std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random() % count); };
  const auto at = [&](std::size_t position) { return result.begin() + static_cast<std::ptrdiff_t>(position); };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = below(result.size()), length = std::min(1 + below(16), result.size() - place);
    switch (below(6)) {
      case 0:
        if (!result.empty()) result[place] ^= std::byte{1} << static_cast<int>(below(8));
        break;
      case 1:
        if (!result.empty()) result[place] = static_cast<std::byte>(random());
        break;
      case 2: {
        const std::uint64_t number = kNumbers[below(kNumbers.size())];
        std::memcpy(result.data() + place, &number, std::min<std::size_t>(length, sizeof number));
        break;
      }
      case 3: result.erase(at(place), at(place + length)); break;
      case 4: {
        const Bytes piece(at(place), at(place + length));
        result.insert(at(below(result.size() + 1)), piece.begin(), piece.end());
        break;
      }
      default: {
        const std::size_t from = below(other.size()), size = std::min(1 + below(64), other.size() - from);
        const auto piece = other.subspan(from, size);
        result.insert(at(place), piece.begin(), piece.end());
      }
    }
  }
  if (result.size() > most) result.resize(most);
  return result;
}

}  // namespace dovetail::test
