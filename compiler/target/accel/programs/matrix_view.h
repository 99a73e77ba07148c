// How the matrices that a batched product reads or writes are within another matrix, where movement (Slice, Reshape,
// Transpose) is between the two: for example heads side by side in the channels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/target/accel/programs/matmul.h"

namespace dovetail::accel {

struct MatrixView {
  std::int64_t outer = 1, inner = 1;                // groups: outer * inner, inner ones next to each other
  std::int64_t outer_rows = 0, outer_channels = 0;  // steps
  GroupPlaces within;                               // of the inner groups, from the first on
  bool transposed = false;                          // its rows are channels, its columns rows
};
struct MatrixExtents {
  std::int64_t groups, rows, columns;
};
// `positions`: of each element [group, row, column], row-major in a matrix with so many channels. `inner`: of the
// groups that are to be at equal steps. nullopt where rows or columns do not follow each other.
std::optional<MatrixView> view_matrices(std::span<const std::int64_t> positions, const MatrixExtents& extents,
                                        std::int64_t channels, std::int64_t inner);

}  // namespace dovetail::accel
