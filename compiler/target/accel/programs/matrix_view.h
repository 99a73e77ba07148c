// The positions of a batched product's matrices within another matrix, after movement (Slice, Reshape, Transpose): for
// example heads next to each other in the channels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/target/accel/programs/matmul.h"

namespace dovetail::accel {

struct MatrixView {
  std::int64_t outer = 1, inner = 1;                // groups: outer * inner; inner groups are next to each other
  std::int64_t outer_rows = 0, outer_channels = 0;  // steps
  GroupPlaces within;                               // places of the inner groups
  bool transposed = false;                          // its rows are channels, its columns rows
};
struct MatrixExtents {
  std::int64_t groups, rows, columns;
};
// `positions`: that of each element [group, row, column], row-major in a matrix with `channels` channels. `inner`:
// number of groups at equal steps. nullopt if rows or columns are not consecutive.
std::optional<MatrixView> view_matrices(std::span<const std::int64_t> positions, const MatrixExtents& extents,
                                        std::int64_t channels, std::int64_t inner);

}  // namespace dovetail::accel
