// LOAD: rows of DRAM elements into consecutive SRAM elements, surrounded by zero elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/instruction.h"

namespace dovetail::isa::semantics {

// Counts of elements per row, rows, and elements in total; 0 if x_size is 0, whatever the pads. y_size 0 with x_size >
// 0 writes the pad rows.
constexpr std::uint64_t loaded_columns(const Transfer& load) {
  return load.x_size == 0 ? 0 : std::uint64_t{load.x_pad_0} + load.x_size + load.x_pad_1;
}
constexpr std::uint64_t loaded_rows(const Transfer& load) {
  return load.x_size == 0 ? 0 : std::uint64_t{load.y_pad_0} + load.y_size + load.y_pad_1;
}
constexpr std::uint64_t loaded_elements(const Transfer& load) { return loaded_rows(load) * loaded_columns(load); }

// Calls, in SRAM order, pad(sram_index, count) for `count` zero elements and data(sram_index, dram_index, count) for a
// row of data. Indices count elements, dram_index from physical address 0.
template <typename Pad, typename Data>
constexpr void for_each_loaded_run(const Load& load, Pad&& pad, Data&& data) {
  if (load.x_size == 0) return;
  const std::uint64_t columns = loaded_columns(load);
  std::uint64_t sram = load.sram_base;
  if (load.y_pad_0 != 0) pad(sram, load.y_pad_0 * columns);
  sram += load.y_pad_0 * columns;
  for (std::uint64_t y = 0; y < load.y_size; ++y) {
    if (load.x_pad_0 != 0) pad(sram, std::uint64_t{load.x_pad_0});
    data(sram + load.x_pad_0, load.dram_base + y * load.x_stride, std::uint64_t{load.x_size});
    if (load.x_pad_1 != 0) pad(sram + load.x_pad_0 + load.x_size, std::uint64_t{load.x_pad_1});
    sram += columns;
  }
  if (load.y_pad_1 != 0) pad(sram, load.y_pad_1 * columns);
}

// An ACC_8BIT element: one int8 per lane in DRAM, sign-extended.
inline void load_acc8(std::span<std::int32_t> lanes, std::span<const std::byte> element) {
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = static_cast<std::int8_t>(element[i]);
}

// A WGT4 element: two int4 lanes a byte, the first in the low bits, sign-extended.
inline void load_wgt4(std::span<std::int8_t> lanes, std::span<const std::byte> element) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const unsigned bits = std::to_integer<unsigned>(element[i / 2]) >> (4 * (i % 2)) & 15;
    lanes[i] = static_cast<std::int8_t>(static_cast<int>(bits ^ 8) - 8);
  }
}

// An ACC element: little-endian int32 lanes.
inline void load_acc(std::span<std::int32_t> lanes, std::span<const std::byte> element) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::uint32_t value = 0;
    for (std::size_t byte = 0; byte < 4; ++byte)
      value |= std::to_integer<std::uint32_t>(element[4 * i + byte]) << (8 * byte);
    lanes[i] = static_cast<std::int32_t>(value);
  }
}

}  // namespace dovetail::isa::semantics
