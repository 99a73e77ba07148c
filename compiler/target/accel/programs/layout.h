// The layout of an int8 tensor in the accelerator's DRAM: channels in blocks, batch in blocks, and a border of zero
// points if a convolution needs it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "compiler/layout/layout.h"
#include "compiler/target/accel/programs/core.h"

namespace dovetail::accel {

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Channels of a block in DRAM, at least: one channel would leave products without a loop over channels.
inline constexpr std::int64_t kLeastBlock = 2;

// The extents of blocks of elements: the facts of the hardware on which layouts and on-chip places depend.
struct BlockSizes {
  BlockSizes(const Core& core)  // NOLINT: implicit by design
      : batch(core.batch), block_in(core.block_in), block_out(core.block_out), dram(core.dram_block) {}
  BlockSizes(const isa::HardwareConfig& config) : BlockSizes(Core(config)) {}  // NOLINT: implicit by design

  std::int64_t batch, block_in, block_out;
  std::int64_t dram;  // channels of a block in DRAM
  auto operator<=>(const BlockSizes&) const = default;
};

struct Border {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;  // pixels
  bool operator==(const Border&) const = default;
  bool empty() const { return *this == Border{}; }
};

// A logical [n, c, h, w] tensor. Matrices [n, c] have h = w = 1, except those whose rows are pixels
// (ImageShape, moves.h): row r is [r % batch, :, 0, r / batch].
//
// Physical form: [n / batch][c / block][border + h][border + w][batch][block], bytes in that order. The block is
// Core::dram_block: max(block_in, block_out, kLeastBlock), or more if other accelerators share the memory. Then an INP
// or OUT element is contiguous; if block_in, block_out and block differ, this requires batch 1.
//
// If kernel rows or columns are folded into channels (fold_window.h), c, h and w are those of the folded tensor.
struct TensorLayout {
  std::int64_t n = 1, c = 1, h = 1, w = 1;  // logical extents
  std::int64_t batch = 1, block = 16;       // block extents
  Border border;
  std::int8_t border_value = 0;
  std::int64_t rows = 0;            // rows of a matrix whose rows are pixels; 0: an image
  Shape unfolded;                   // [n, c, h, w] before the folds; empty without
  std::vector<Layout::Fold> folds;  // pixels beyond the image that they read are border_value

  std::int64_t padded_n() const { return round_up(n, batch); }
  std::int64_t padded_c() const { return round_up(c, block); }
  std::int64_t padded_h() const { return border.top + h + border.bottom; }
  std::int64_t padded_w() const { return border.left + w + border.right; }
  // The shape in loop programs of the accelerator, before blocks are split off.
  Shape program_shape() const { return {padded_n(), padded_c(), padded_h(), padded_w()}; }
  Shape physical_shape() const {
    return {padded_n() / batch, padded_c() / block, padded_h(), padded_w(), batch, block};
  }
  std::int64_t bytes() const { return element_count(physical_shape()); }

  // Index map (schedule/index_map.h) from the program shape to elements of `element_block` channels: the last two
  // dimensions are one element.
  std::string index_map(std::int64_t element_block) const;
  // The text of the layout of the value (compiler/layout/layout.h).
  std::string text() const;
};

TensorLayout make_layout(const BlockSizes& sizes, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w);
// Index map of a weight, [o, c] or with kernel dimensions after these: the last two dimensions are one element of WGT.
std::string weight_index_map(const BlockSizes& sizes, std::size_t dimensions);
// Index map of [batch, channels, parts], such as constants, which have several words for each channel: one part of a
// block of channels is an element.
std::string parts_index_map(std::int64_t block);

// The layout of the tensor with these windows folded. Precondition: no border and no folds yet.
TensorLayout fold_layout(TensorLayout layout, const std::vector<Layout::Fold>& folds);

}  // namespace dovetail::accel
