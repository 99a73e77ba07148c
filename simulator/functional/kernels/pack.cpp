#include "simulator/functional/kernels/pack.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "isa/semantics/load.h"
#include "isa/semantics/store.h"

namespace dovetail::simulator {

namespace {

// Values [at, at + depth) of a row of `size` bytes as one word: a pair of sign-extended halves, or four bytes.
std::uint32_t group(const std::byte* row, std::size_t size, std::size_t at, std::size_t depth) {
  std::uint32_t word = 0;
  if (depth == 4) {
    for (std::size_t i = 0; i < 4 && at + i < size; ++i) word |= std::to_integer<std::uint32_t>(row[at + i]) << (8 * i);
    return word;
  }
  for (std::size_t i = 0; i < 2 && at + i < size; ++i)
    word |= (static_cast<std::uint32_t>(static_cast<std::int8_t>(row[at + i])) & 0xffff) << (16 * i);
  return word;
}

// The words produced by group().
void ungroup(std::uint32_t word, std::byte* row, std::size_t size, std::size_t at, std::size_t depth) {
  const int bits = depth == 4 ? 8 : 16;
  for (std::size_t i = 0; i < depth && at + i < size; ++i) row[at + i] = static_cast<std::byte>(word >> (bits * i));
}

std::int32_t row_sum(const std::byte* row, std::size_t size) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += static_cast<std::int8_t>(row[i]);
  return sum;
}

// Adds 128 to each of four bytes, modulo 256.
constexpr std::uint32_t kByteBias = 0x80808080;

// Consecutive runs of lanes: all elements at once if they fill whole vectors, else one element at a time.
template <typename Convert>
void for_each_lane_run(const TileLayout& layout, std::size_t count, Convert&& convert) {
  if (layout.lanes() == layout.acc_words()) {
    convert(0, 0, count * layout.lanes());
  } else {
    for (std::size_t i = 0; i < count; ++i) convert(i * layout.acc_words(), i * layout.lanes(), layout.lanes());
  }
}

}  // namespace

std::uint32_t zero_weights(const TileLayout& layout) { return layout.group_depth == 4 ? kByteBias : 0; }

void pack_inp(const TileLayout& layout, const std::byte* dram, std::size_t count, std::uint32_t* tiles,
              std::int32_t* compensation) {
  const std::size_t size = layout.block_in, batch = layout.batch, depth = layout.group_depth;
  if (depth == 4)
    for (std::size_t row = 0; row < count * batch; ++row) compensation[row] = -128 * row_sum(dram + row * size, size);
  if (depth == 4 && batch == 1 && size >= 4) {  // same order as DRAM
    std::memcpy(tiles, dram, count * size);
    return;
  }
  for (std::size_t i = 0; i < count; ++i, dram += batch * size, tiles += layout.inp_words())
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t g = 0; g < layout.groups(); ++g)
        tiles[g * batch + b] = group(dram + b * size, size, g * depth, depth);
}

void pack_wgt(const TileLayout& layout, const std::byte* dram, std::size_t count, std::uint32_t* tiles) {
  const std::size_t size = layout.block_in, lanes = layout.wgt_lanes(), depth = layout.group_depth;
  const std::uint32_t bias = zero_weights(layout);
  for (std::size_t i = 0; i < count; ++i, dram += layout.block_out * size, tiles += layout.wgt_words()) {
    for (std::size_t o = 0; o < layout.block_out; ++o) {
      const std::byte* row = dram + o * size;
      if (depth == 4 && size >= 4) {
        for (std::size_t g = 0; g < size / 4; ++g) {
          std::uint32_t word;
          std::memcpy(&word, row + 4 * g, 4);
          tiles[g * lanes + o] = word ^ bias;
        }
      } else {
        for (std::size_t g = 0; g < layout.groups(); ++g)
          tiles[g * lanes + o] = group(row, size, g * depth, depth) ^ bias;
      }
    }
    for (std::size_t g = 0; g < layout.groups(); ++g)
      for (std::size_t lane = layout.block_out; lane < lanes; ++lane)
        tiles[g * lanes + lane] = tiles[g * lanes + lane - layout.block_out];
  }
}

void pack_wgt4(const TileLayout& layout, const std::byte* dram, std::size_t count, std::uint32_t* tiles) {
  std::vector<std::int8_t> element(layout.block_out * layout.block_in);
  for (std::size_t i = 0; i < count; ++i, dram += element.size() / 2, tiles += layout.wgt_words()) {
    isa::semantics::load_wgt4(element, {dram, element.size() / 2});
    pack_wgt(layout, reinterpret_cast<const std::byte*>(element.data()), 1, tiles);
  }
}

void unpack_inp(const TileLayout& layout, const std::uint32_t* tiles, std::size_t count, std::byte* dram) {
  const std::size_t size = layout.block_in, batch = layout.batch, depth = layout.group_depth;
  for (std::size_t i = 0; i < count; ++i, dram += batch * size, tiles += layout.inp_words())
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t g = 0; g < layout.groups(); ++g)
        ungroup(tiles[g * batch + b], dram + b * size, size, g * depth, depth);
}

void unpack_wgt(const TileLayout& layout, const std::uint32_t* tiles, std::size_t count, std::byte* dram) {
  const std::size_t size = layout.block_in, depth = layout.group_depth;
  const std::uint32_t bias = zero_weights(layout);
  for (std::size_t i = 0; i < count; ++i, dram += layout.block_out * size, tiles += layout.wgt_words())
    for (std::size_t o = 0; o < layout.block_out; ++o)
      for (std::size_t g = 0; g < layout.groups(); ++g)
        ungroup(tiles[g * layout.wgt_lanes() + o] ^ bias, dram + o * size, size, g * depth, depth);
}

void unpack_acc(const TileLayout& layout, const std::byte* dram, std::size_t count, std::int32_t* acc) {
  for_each_lane_run(layout, count, [&](std::size_t word, std::size_t lane, std::size_t lanes) {
    isa::semantics::load_acc(std::span(acc + word, lanes), std::span(dram + 4 * lane, 4 * lanes));
  });
}

void unpack_acc8(const TileLayout& layout, const std::byte* dram, std::size_t count, std::int32_t* acc) {
  for_each_lane_run(layout, count, [&](std::size_t word, std::size_t lane, std::size_t lanes) {
    isa::semantics::load_acc8(std::span(acc + word, lanes), std::span(dram + lane, lanes));
  });
}

void narrow_acc(const TileLayout& layout, const std::int32_t* acc, std::size_t count, bool saturate, std::byte* dram) {
  for_each_lane_run(layout, count, [&](std::size_t word, std::size_t lane, std::size_t lanes) {
    const std::int32_t* from = acc + word;
    std::byte* to = dram + lane;
    if (saturate) {
      for (std::size_t i = 0; i < lanes; ++i) to[i] = static_cast<std::byte>(isa::semantics::narrow_saturate(from[i]));
    } else {
      for (std::size_t i = 0; i < lanes; ++i) to[i] = static_cast<std::byte>(isa::semantics::narrow_wrap(from[i]));
    }
  });
}

}  // namespace dovetail::simulator
