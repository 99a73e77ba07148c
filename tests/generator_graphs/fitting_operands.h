// Operands with matching shapes, for operators whose operands independent draws seldom match.
#pragma once

#include <map>
#include <string_view>
#include <vector>

namespace dovetail::test {

// The shape of an operand, as words: "2", an extent that is drawn once for a node ("h"), or a multiple of one ("4h").
// With a leading "!" the operand is a constant list that holds those numbers.
struct FittingOperands {
  std::vector<std::string_view> operands;
  std::map<std::string_view, std::string_view> attributes = {};  // integers, and lists of them
};

inline const FittingOperands* fitting_operands(std::string_view op) {
  static const std::map<std::string_view, FittingOperands> kOperands{
      {"AffineGrid", {{"n 2 3", "! n 1 h w"}}},
      {"BatchNormalization", {{"n c h", "c", "c", "c", "c"}}},
      {"Col2Im", {{"n 4c 4", "! 3 3", "! 2 2"}}},
      {"ConvTranspose", {{"n c 3 4", "c m 2 3"}}},
      {"DeformConv", {{"n c 3 4", "m c 2 2", "n 8 2 3"}}},
      {"GRU", {{"t n i", "1 3h i", "1 3h h", "1 6h"}, {{"hidden_size", "h"}}}},
      {"GridSample", {{"n c 3 4", "n h w 2"}}},
      {"LSTM", {{"t n i", "1 4h i", "1 4h h", "1 8h"}, {{"hidden_size", "h"}}}},
      {"LpPool", {{"n c 4 5"}, {{"kernel_shape", "2 2"}}}},
      {"MaxPool", {{"n c 4 5"}, {{"kernel_shape", "2 2"}}}},
      {"MaxUnpool", {{"n c 2 2", "n c 2 2"}, {{"kernel_shape", "2 2"}, {"strides", "2 2"}}}},
      {"RNN", {{"t n i", "1 h i", "1 h h", "1 2h"}, {{"hidden_size", "h"}}}},
      {"RoiAlign", {{"1 c 4 4", "r 4", "r"}, {{"sampling_ratio", "2"}}}},
      {"dovetail.dynamic_lstm", {{"t n 4h", "1 h 4h", "1 4h", "1", "1"}, {{"hidden_size", "h"}}}},
      {"dovetail.gru", {{"t n 3h", "1 h 3h"}, {{"hidden_size", "h"}}}},
      {"dovetail.lstm", {{"t n 4h", "1 h 4h"}, {{"hidden_size", "h"}}}},
      {"dovetail.non_max_suppression", {{"n b 4", "n c b", "! 2", "1", "1"}}},
      {"dovetail.packed_gemm", {{"m 16", "n 2", "n 4", "n 4"}, {{"bits", "4"}, {"block_size", "4"}}}},
      {"dovetail.rnn", {{"t n h", "1 h h"}, {{"hidden_size", "h"}}}},
  };
  const auto found = kOperands.find(op);
  return found == kOperands.end() ? nullptr : &found->second;
}

}  // namespace dovetail::test
