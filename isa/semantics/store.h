// STORE: consecutive ACC elements, narrowed to int8 lanes, into rows of DRAM elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/instruction.h"

namespace dovetail::isa::semantics {

constexpr std::uint64_t stored_elements(const Transfer& store) { return std::uint64_t{store.y_size} * store.x_size; }

// Calls data(sram_index, dram_index, count) for each row; indices count elements.
template <typename Data>
constexpr void for_each_stored_run(const Store& store, Data&& data) {
  if (store.x_size == 0) return;
  for (std::uint64_t y = 0; y < store.y_size; ++y)
    data(store.sram_base + y * store.x_size, store.dram_base + y * store.x_stride, std::uint64_t{store.x_size});
}

constexpr std::int8_t narrow_wrap(std::int32_t value) { return static_cast<std::int8_t>(value); }
constexpr std::int8_t narrow_saturate(std::int32_t value) {
  return static_cast<std::int8_t>(std::clamp(value, -128, 127));
}
constexpr std::int8_t narrow(std::int32_t value, bool saturate) {
  return saturate ? narrow_saturate(value) : narrow_wrap(value);
}

}  // namespace dovetail::isa::semantics
