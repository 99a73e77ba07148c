// Arithmetic modulo 2^32. Signed overflow is undefined in C++, so every wrapping operation of the ISA goes through
// uint32_t.
#pragma once

#include <cstdint>

namespace dovetail::isa::semantics {

constexpr std::uint32_t bits(std::int32_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::int32_t wrap(std::uint32_t value) { return static_cast<std::int32_t>(value); }

constexpr std::int32_t wrapping_add(std::int32_t a, std::int32_t b) { return wrap(bits(a) + bits(b)); }
constexpr std::int32_t wrapping_mul(std::int32_t a, std::int32_t b) { return wrap(bits(a) * bits(b)); }

}  // namespace dovetail::isa::semantics
