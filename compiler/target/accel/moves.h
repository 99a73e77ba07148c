// Operators that move values (Concat, Slice, Pad, nearest Resize, DepthToSpace, ...) as parts that a program can copy:
// boxes of pixels at regular steps, and for each block of channels the blocks of the inputs that it is made of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/target/accel/programs.h"

namespace dovetail::accel {

// A graph value as the accelerator sees it: rank 4 is [n, c, h, w]; any other rank is a matrix [product of the leading
// extents, last extent].
struct ImageShape {
  std::int64_t n, c, h, w;
  bool operator==(const ImageShape&) const = default;
};
ImageShape image_shape(const Shape& shape);

// `sources`: where each element of the result comes from (compiler/target/element_sources.h), the elements of `inputs`
// counted one behind the other. `block`: channels of one (TensorLayout::block). Layouts of the parts stay open. Errors:
// `why` alone, of a result whose pixels follow no pattern that parts can have.
Result<std::vector<MoveSpec>> plan_moves(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                         const ImageShape& result, std::int64_t block);

// The folds with which the result, in memory, has the elements of its only operand where that has them: depth to space.
// Empty for any other movement.
std::vector<Layout::Fold> folds_of_move(std::span<const std::int32_t> sources, std::span<const ImageShape> inputs,
                                        const ImageShape& result);

}  // namespace dovetail::accel
