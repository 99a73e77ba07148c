#include "compiler/target/accel/lower/window_stripes.h"

#include <algorithm>

namespace dovetail::accel {

namespace {

const Axis kNone{1, {0, 0, 0, 0}};

// Moves the axis of results whose pixels are along the kernel's.
void take(std::vector<Axis>& from, Axis& into, const Axis& kernel) {
  const auto along = std::ranges::find_if(from, [&](const Axis& axis) {
    return axis.steps[1] % kernel.steps[1] == 0 && axis.steps[1] <= kernel.steps[1] * kernel.extent;
  });
  if (along == from.end()) return;
  into = *along;
  from.erase(along);
}

}  // namespace

WindowAxes::WindowAxes(const std::vector<Axis>& axes)
    : kernel_rows(kNone), kernel_columns(kNone), rows(kNone), columns(kNone) {
  for (const Axis& axis : axes) {
    if (axis.extent == 1) continue;
    if (axis.steps[0] != 0) others.push_back(axis);
    else (axis.steps[3] == 1 ? kernel_rows : kernel_columns) = axis;
  }
  std::ranges::stable_sort(others, {}, [](const Axis& axis) { return axis.steps[1]; });
  if (kernel_rows.extent > 1) take(others, rows, kernel_rows);
  if (kernel_columns.extent > 1) take(others, columns, kernel_columns);
  // A kernel of one row: any axis of results may be the rows of stripes.
  if (kernel_rows.extent == 1 && !others.empty()) {
    rows = others.front();
    others.erase(others.begin());
  }
}

std::int64_t WindowAxes::rows_of_stripe() const {
  if (kernel_columns.extent == 1) return rows.extent;
  return std::min(rows.extent, (kernel_columns.steps[3] - kernel_rows.extent) / row_stride() + 1);
}

std::int64_t WindowAxes::pushed_rows(std::int64_t count) const {
  return kernel_columns.extent == 1 ? pixel_rows(count) : kernel_columns.steps[3];
}

std::vector<isa::Uop> stripe_uops(const WindowAxes& at, std::int64_t count, const std::vector<std::int64_t>& bases,
                                  std::uint32_t push_only) {
  std::vector<isa::Uop> uops;
  const auto index = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::int64_t last = at.pixel_rows(count) - 1;
  for (std::int64_t column = at.pixel_columns(); column-- > 0;)
    for (std::int64_t row = at.pushed_rows(count); row-- > 0;) {
      const std::int64_t src = bases[1] + std::min(row, last) * at.row_step() + column * at.kernel_columns.steps[1];
      const std::int64_t result_row = row / at.row_stride(), result_column = column / at.column_stride();
      const bool multiplies = row % at.row_stride() == 0 && result_row < count && column % at.column_stride() == 0 &&
                              result_column < at.columns.extent;
      if (multiplies)
        uops.push_back({index(bases[0] + result_row * at.rows.steps[0] + result_column * at.columns.steps[0]),
                        index(src), index(bases[2])});
      else uops.push_back({0, index(src), push_only});
    }
  return uops;
}

}  // namespace dovetail::accel
