// A depthwise convolution as stripes of rows for WINDOW (isa/semantics/window.h).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target/accel/lower/axis.h"
#include "isa/instruction.h"

namespace dovetail::accel {

// The axes of a depthwise convolution, whose steps are those of dst, src, wgt and tap: of its kernel, along which taps
// are 1 and `pushes` apart; of its results, along the same pixels; and all others. A kernel of one column has no second
// axis, and its window holds any number of rows.
struct WindowAxes {
  explicit WindowAxes(const std::vector<Axis>& axes);

  std::vector<Axis> others;
  Axis kernel_rows, kernel_columns, rows, columns;

  std::int64_t row_step() const { return kernel_rows.extent > 1 ? kernel_rows.steps[1] : rows.steps[1]; }
  std::int64_t row_stride() const { return rows.extent > 1 ? rows.steps[1] / row_step() : 1; }
  std::int64_t column_stride() const { return columns.extent > 1 ? columns.steps[1] / kernel_columns.steps[1] : 1; }
  // Rows of results of a whole stripe, and the micro-ops for it.
  std::int64_t rows_of_stripe() const;
  std::int64_t uops() const { return pixel_columns() * pushed_rows(rows_of_stripe()); }
  std::int64_t pixel_columns() const { return (columns.extent - 1) * column_stride() + kernel_columns.extent; }
  // Pixels that the results of a stripe of `count` rows read, and those pushed, in a column.
  std::int64_t pixel_rows(std::int64_t count) const { return (count - 1) * row_stride() + kernel_rows.extent; }
  std::int64_t pushed_rows(std::int64_t count) const;
};

// The micro-ops of a stripe of `count` rows. Pushes go from the last pixel to the first, and a result's products follow
// the push of its first pixel. The window's columns are `pushes` apart, so a stripe of few rows pushes its last row
// several times. `push_only`: isa::semantics::push_only.
std::vector<isa::Uop> stripe_uops(const WindowAxes& at, std::int64_t count, const std::vector<std::int64_t>& bases,
                                  std::uint32_t push_only);

}  // namespace dovetail::accel
