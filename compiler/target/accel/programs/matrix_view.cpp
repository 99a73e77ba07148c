#include "compiler/target/accel/programs/matrix_view.h"

namespace dovetail::accel {

std::optional<MatrixView> view_matrices(std::span<const std::int64_t> positions, const MatrixExtents& extents,
                                        std::int64_t channels, std::int64_t inner) {
  const auto at = [&](std::int64_t group, std::int64_t row, std::int64_t column) {
    return positions[static_cast<std::size_t>((group * extents.rows + row) * extents.columns + column)];
  };
  MatrixView view;
  view.inner = inner;
  view.outer = extents.groups / inner;
  const std::int64_t first = at(0, 0, 0);
  const auto row_of = [&](std::int64_t group) { return at(group, 0, 0) / channels - first / channels; };
  const auto channel_of = [&](std::int64_t group) { return at(group, 0, 0) % channels - first % channels; };
  view.within.first_row = first / channels;
  view.within.first_channel = first % channels;
  if (inner > 1) view.within.rows = row_of(1), view.within.channels = channel_of(1);
  if (view.outer > 1) view.outer_rows = row_of(inner), view.outer_channels = channel_of(inner);
  // A single row or column may be both; then it does not count as transposed.
  if (extents.columns > 1) view.transposed = at(0, 0, 1) - first == channels && channels > 1;
  else if (extents.rows > 1) view.transposed = at(0, 1, 0) - first == 1 && channels > 1;
  const std::int64_t to_row = view.transposed ? 1 : channels, to_column = view.transposed ? channels : 1;
  for (std::int64_t group = 0; group < extents.groups; ++group) {
    const std::int64_t row = view.within.first_row + group / inner * view.outer_rows + group % inner * view.within.rows,
                       channel = view.within.first_channel + group / inner * view.outer_channels +
                                 group % inner * view.within.channels;
    const std::int64_t across = view.transposed ? extents.rows : extents.columns;
    if (row < 0 || channel < 0 || channel + across > channels) return std::nullopt;
    for (std::int64_t y = 0; y < extents.rows; ++y)
      for (std::int64_t x = 0; x < extents.columns; ++x)
        if (at(group, y, x) != row * channels + channel + y * to_row + x * to_column) return std::nullopt;
  }
  return view;
}

}  // namespace dovetail::accel
