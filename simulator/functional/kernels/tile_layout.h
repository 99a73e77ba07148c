// The layout of SRAM elements in the functional simulator, chosen so that the vector kernels need no shuffles and no
// partial vectors. Only GEMM reads INP and WGT, and only LOAD writes them, so they are stored only in the kernels'
// form.
//
//   ACC  [vector][16] int32: batch * block_out lanes, the last vector padded.
//   INP  [group][batch] words: a word contains a group of consecutive inputs of one batch row, zeros beyond block_in.
//   WGT  [group][max(block_out, 16)] words: the same group of one output row per lane; with fewer than 16 outputs the
//   words repeat, since a vector of ACC then spans several batch rows.
//
// A group is 2 values of 16 bits (multiplied and added by pmaddwd) or 4 values of 8 bits (vpdpbusd). vpdpbusd
// multiplies unsigned by signed bytes: weights are then stored plus 128, and `compensation`, -128 times the sum of an
// input row, is added once per micro-op.
#pragma once

#include <algorithm>
#include <cstddef>

namespace dovetail::simulator {

inline constexpr std::size_t kVectorLanes = 16;

struct TileLayout {
  std::size_t batch = 1, block_in = 1, block_out = 1;  // powers of two
  std::size_t group_depth = 2;                         // values in a word: 2 or 4

  std::size_t lanes() const { return batch * block_out; }
  std::size_t vectors() const { return (lanes() + kVectorLanes - 1) / kVectorLanes; }
  std::size_t groups() const { return (block_in + group_depth - 1) / group_depth; }
  std::size_t wgt_lanes() const { return std::max(block_out, kVectorLanes); }

  // Words (4 bytes) per element.
  std::size_t acc_words() const { return vectors() * kVectorLanes; }
  std::size_t inp_words() const { return groups() * batch; }
  std::size_t wgt_words() const { return groups() * wgt_lanes(); }
};

}  // namespace dovetail::simulator
