// Operators that move values (Concat, Slice, Pad, nearest Resize, DepthToSpace, ...) as parts that a program can copy:
// boxes of pixels at regular steps, and for each block of channels the blocks of the inputs that it is made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/programs.h"

namespace dovetail::accel {

// A graph value as the accelerator sees it: rank 4 is [n, c, h, w], rank 2 [n, c, 1, 1].
//
// A matrix whose rows are pixels (`rows` > 0) has the product of its leading extents as rows, its last one as channels,
// in one block of the batch: row r is [r % batch, :, 0, r / batch]. So a block of channels of block_out neighboring
// rows is an element of WGT where blocks are of equal size, and columns at borders of blocks can be cut out.
struct ImageShape {
  std::int64_t n, c, h, w;
  std::int64_t rows = 0;
  bool operator==(const ImageShape&) const = default;
};
// Those of rank 3 and above, without rank 4; and what products of two activations read and write, whatever its rank.
bool rows_are_pixels(const graph::Graph& graph, graph::ValueId value);
ImageShape matrix_shape(std::int64_t rows, std::int64_t columns, std::int64_t batch);
ImageShape image_shape(const graph::Graph& graph, graph::ValueId value, const isa::HardwareConfig& config);
TensorLayout make_layout(const isa::HardwareConfig& config, const ImageShape& shape);

// `sources`: where each element of the result comes from (compiler/target/support/element_sources.h), the elements of
// `inputs` counted one after the other. `block`: channels of one (TensorLayout::block). Layouts of the parts stay
// open. Errors: `why` alone, of a result whose pixels follow no pattern that parts can have.
Result<std::vector<MoveSpec>> plan_moves(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                         const ImageShape& result, std::int64_t block);

// The folds with which the result, in memory, has the elements of its only operand where that has them: depth to space.
// Empty for any other movement.
std::vector<Layout::Fold> folds_of_move(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                        const ImageShape& result);

}  // namespace dovetail::accel
