// Unsigned integers as little-endian bytes, independent of the machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "base/check.h"

namespace dovetail {

// Precondition: offset + sizeof(T) <= bytes.size().
template <std::unsigned_integral T>
T load_little_endian(std::span<const std::byte> bytes, std::size_t offset) {
  DOVETAIL_CHECK(offset <= bytes.size() && bytes.size() - offset >= sizeof(T), "must not read past the end");
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | (static_cast<T>(bytes[offset + i]) << (8 * i)));
  return value;
}

template <std::unsigned_integral T>
void append_little_endian(std::vector<std::byte>& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

}  // namespace dovetail
