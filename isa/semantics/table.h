// TABLE and TABLEU: a function of 8 bits, as a table of 256 entries of 16 bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/semantics/wrap.h"
#include "isa/spec/memories.h"

namespace dovetail::isa::semantics {

// The entry that TABLE sign-extends and TABLEU zero-extends; the first is that of -128 and below, the last that of 127
// and above.
constexpr std::uint16_t table_entry(std::int32_t acc, std::int32_t operand, const std::uint16_t* table) {
  return table[std::clamp(wrapping_add(acc, operand), -128, 127) + 128];
}

// A TAB element: little-endian entries.
inline void load_table(std::span<std::uint16_t> entries, std::span<const std::byte> element) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i] = static_cast<std::uint16_t>(std::to_integer<unsigned>(element[2 * i]) |
                                            std::to_integer<unsigned>(element[2 * i + 1]) << 8);
}

}  // namespace dovetail::isa::semantics
