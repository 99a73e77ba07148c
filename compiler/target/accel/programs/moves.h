// Divides operators that move values (Concat, Slice, Pad, nearest Resize, DepthToSpace, ...) into parts that a program
// can copy: boxes of pixels at regular steps, and for each block of channels the blocks of the inputs that it consists
// of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"
#include "compiler/target/accel/programs/core.h"
#include "compiler/target/accel/programs/programs.h"

namespace dovetail::accel {

// A graph value in the accelerator's form: rank 4 is [n, c, h, w], rank 2 [n, c, 1, 1].
//
// A matrix whose rows are pixels (`rows` > 0) has the product of its leading extents as rows, its last one as channels,
// in one block of the batch: row r is [r % batch, :, 0, r / batch]. So a block of channels of block_out neighboring
// rows is an element of WGT if block_in is a whole block, and columns can be cut out at borders of blocks.
struct ImageShape {
  std::int64_t n, c, h, w;
  std::int64_t rows = 0;
  bool operator==(const ImageShape&) const = default;
};
// Whether the value's rows are pixels: values of rank 3 and above except rank 4; values of any rank that products of
// two activations read and write; masks of such values; and values of rank 4 that other operators along their last
// axis, or movement to such a product, read or write, perhaps with elementwise operators between them, but no
// convolution or pooling.
bool rows_are_pixels(const graph::Graph& graph, graph::ValueId value);
ImageShape matrix_shape(std::int64_t rows, std::int64_t columns, std::int64_t batch);
ImageShape image_shape(const graph::Graph& graph, graph::ValueId value, const Core& config);
TensorLayout make_layout(const Core& config, const ImageShape& shape);

// `sources`: the source of each element of the result (compiler/target/support/element_sources.h), as an index into the
// concatenated elements of `inputs`. `block`: channels of a block (TensorLayout::block). Layouts of the parts are not
// set. Errors (only `why`): the pixels of the result do not have a pattern that parts can express.
Result<std::vector<MoveSpec>> plan_moves(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                         const ImageShape& result, std::int64_t block);

// The folds for which the result has the same memory as its only operand: for depth to space. Empty for any other
// movement.
std::vector<Layout::Fold> folds_of_move(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                        const ImageShape& result);

}  // namespace dovetail::accel
