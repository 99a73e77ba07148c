// The epilogue of GEMMQ and WINDOW: the sum that a step writes to ACC is requantized on its way to OUT, the byte that
// STORE reads. ACC keeps the sum, and any other write of an element of ACC replaces the byte, too.
//
// The parameters are an element of WGT, which a step before those of the loop reads. Row o begins with the bias and the
// scale of lane o, and row 0 ends with the numbers that all lanes share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "isa/instruction.h"
#include "isa/semantics/requant.h"
#include "isa/semantics/table.h"

namespace dovetail::isa::semantics {

// Places in a row of block_in bytes.
inline constexpr std::size_t kBiasAt = 0, kScaleAt = 4;                             // int32 and binary32, little-endian
inline constexpr std::int64_t kParameterBytes = 11;                                 // of a row, at least
constexpr std::size_t zero_point_at(std::size_t block_in) { return block_in - 3; }  // int8, of row 0
constexpr std::size_t least_at(std::size_t block_in) { return block_in - 2; }
constexpr std::size_t most_at(std::size_t block_in) { return block_in - 1; }

// The micro-op that selects the parameters: wgt is their element, and bit 0 of dst says whether results become entries
// of the table.
constexpr bool looks_up(const Uop& parameters) { return (parameters.dst & 1) != 0; }

// Writes the parameters of lane `lane` into a row of block_in bytes.
constexpr void put_lane(std::span<std::int8_t> row, std::int32_t bias, std::uint32_t scale) {
  const auto bits = static_cast<std::uint32_t>(bias);
  for (std::size_t byte = 0; byte < 4; ++byte) {
    row[kBiasAt + byte] = static_cast<std::int8_t>(bits >> (8 * byte));
    row[kScaleAt + byte] = static_cast<std::int8_t>(scale >> (8 * byte));
  }
}

constexpr std::uint32_t word_at(std::span<const std::int8_t> row, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t byte = 0; byte < 4; ++byte)
    word |= std::uint32_t{static_cast<std::uint8_t>(row[at + byte])} << (8 * byte);
  return word;
}

constexpr std::int8_t finish_epilogue(std::int32_t requantized, std::int32_t least, std::int32_t most) {
  return static_cast<std::int8_t>(std::min(std::max(requantized, least), most));
}

// The byte of OUT for the sum in lane `lane` of ACC. `parameters`: [block_out][block_in]; `table`: null unless results
// are entries of it.
constexpr std::int8_t epilogue(std::int32_t sum, std::size_t lane, std::span<const std::int8_t> parameters,
                               std::size_t block_in, const std::uint16_t* table) {
  const auto row = parameters.subspan(lane * block_in, block_in);
  const std::int32_t value = requant(sum, std::bit_cast<std::int32_t>(word_at(row, kBiasAt)), word_at(row, kScaleAt),
                                     parameters[zero_point_at(block_in)]);
  const std::int8_t clamped = finish_epilogue(value, parameters[least_at(block_in)], parameters[most_at(block_in)]);
  return table == nullptr ? clamped : static_cast<std::int8_t>(table_entry(clamped, 0, table));
}

}  // namespace dovetail::isa::semantics
