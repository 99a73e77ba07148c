// Batched products of two activations: each operand is a part of a matrix whose rows are pixels (ImageShape, moves.h).
// If block_in is the block, a block of channels of block_out rows has the form of an element of WGT. So a second
// operand that is stored transposed, like keys in attention, is read in place; any other second operand is transposed
// first. If block_in is smaller, both are arranged as elements of WGT before they are read as such.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/layout.h"
#include "compiler/target/accel/programs/programs.h"
#include "loops/ir.h"

namespace dovetail::accel {

// The places of several groups in a matrix: group g begins at row first_row + g * rows and channel first_channel + g *
// channels.
struct GroupPlaces {
  std::int64_t first_row = 0, rows = 0, first_channel = 0, channels = 0;
  bool operator==(const GroupPlaces&) const = default;
};

// y[m, n] = sum over k of (a[m, k] - za) (b[n, k] - zb), and its epilogue, for each group.
struct MatMulSpec {
  std::string name;
  TensorLayout a, b, y;
  GroupPlaces a_at, b_at, y_at;
  std::int64_t groups = 1, rows = 1, channels = 1, depth = 1;  // m, n and k
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  float scale = 1;
  Epilogue epilogue;

  // The constant that all accumulators have in addition to the sums: k za zb.
  std::int32_t bias() const;
};
// What such products need of the hardware's blocks and does not have, for a message: "blocks of at least 2, and they
// are 1". Empty: all they need.
std::string needed_of_blocks(const Core& config);
// Parameters X, W (b as elements of WGT), [IZ,] [IJ,] K, Y. IZ has -za, IJ has -zb, for each k below `depth`: their
// products with b and a are the terms of the zero points. They exist if za, zb are not 0.
loops::Program matmul_program(const MatMulSpec& spec, const Core& config);
// The int8 values of IZ and IJ: the number for each k, in two halves if it does not fit int8.
NdArray zero_point_operand(std::int64_t elements, std::int64_t depth, std::int32_t zero_point, const Core& config);

// Whether matrices must be arranged before they are read as elements of WGT.
bool needs_arranging(const Core& config);
// Channels of a matrix, whole blocks, arranged as elements of WGT: [channel / block_in][row][channel % block_in].
struct ArrangedMatrix {
  std::int64_t first_channel = 0, channels = 0;
};
// The arranged matrix as a matrix of these channels alone, for programs that read it as elements of WGT. Precondition:
// rows fill blocks.
TensorLayout arranged_matrix(const TensorLayout& x, const ArrangedMatrix& arranged);
// Parameters X, IR (arranging_selection), Y, which has arranged_matrix().bytes(). An element of OUT holds block_in
// channels of block_out / block_in rows: a sum of as many products, each of which moves the channels of one row to
// their lanes. One program for each block_in channels of a block.
std::vector<loops::Program> arrange_programs(const std::string& name, const TensorLayout& x,
                                             const ArrangedMatrix& arranged, const Core& config);
NdArray arranging_selection(const Core& config);

// Transposes a part of a matrix: y[first_result_row + c, r] = x[first_row + r, first_channel + c]. Channels are whole
// blocks, or less than one block.
struct TransposeSpec {
  std::string name;
  TensorLayout x, y;
  std::int64_t first_row = 0, rows = 1, first_channel = 0, channels = 1;  // of x
  std::int64_t first_result_row = 0;
};
// Parameters W (x as elements of WGT), IX (transposing_identity), Y: rows of the identity times an element of WGT are
// its columns.
loops::Program transpose_program(const TransposeSpec& spec, const Core& config);
NdArray transposing_identity(const Core& config);

}  // namespace dovetail::accel
