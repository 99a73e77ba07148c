#include "compiler/target/accel/programs/window_maximum.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "compiler/target/accel/programs/stages.h"

namespace dovetail::accel {

using namespace loops;
using tensor::Axes;
using tensor::Indices;

namespace {

constexpr std::size_t kPixelRow = 2, kPixelColumn = 3;  // of pixel_axes()

// Reduces along one axis the elements that are in places by their remainder.
class AxisMaximum {
 public:
  AxisMaximum(tensor::Definition& definition, const WindowAxis& window, const std::vector<Buffer>& parts, Axes axes,
              std::size_t axis)
      : definition_(definition), window_(window), parts_(parts), axes_(std::move(axes)), axis_(axis) {}

  Buffer make(const std::string& name) {
    std::vector<std::int64_t> inside, beyond;  // places of the window
    for (std::int64_t tap = 0; tap < window_.kernel; ++tap)
      if (tap % window_.stride != window_.single()) (window_.is_inside(tap) ? inside : beyond).push_back(tap);
    DOVETAIL_CHECK(beyond.size() <= inside.size(), "as many places of a window are inside of the image as outside");
    Buffer largest = parts_[static_cast<std::size_t>(window_.single())];
    for (const std::int64_t tap : inside) {
      const std::string step = name + std::to_string(tap);
      const auto maximum = [&](const Indices& i) { return binary(BinaryOp::max, load(largest, i), element(tap, i)); };
      if (beyond.empty()) {
        largest = definition_.compute(step, DType::int32, axes_, maximum);
        continue;
      }
      // A place that some windows lack is reduced next: windows without it use their start value instead.
      const std::int64_t other = beyond.back();
      beyond.pop_back();
      largest = definition_.reduce_from(
          step, DType::int32, axes_, {{"tap", 1}}, tensor::max_reducer(), maximum,
          [&](const Indices& i, const Indices&) { return select(exists(other, i), element(other, i), maximum(i)); });
    }
    return largest;
  }

 private:
  Expr position(std::int64_t tap, const Indices& i) const {
    const std::int64_t first = window_.first(tap);
    return first == 0 ? i[axis_] : i[axis_] + first;
  }
  Expr element(std::int64_t tap, const Indices& i) const {
    Indices at = i;
    at[axis_] = position(tap, i);
    return load(parts_[static_cast<std::size_t>(tap % window_.stride)], at);
  }
  Expr exists(std::int64_t tap, const Indices& i) const {
    const std::int64_t first = window_.first(tap), count = window_.positions(tap % window_.stride).count;
    const Expr at = position(tap, i), begins = binary(BinaryOp::ge, at, int_imm(0)),
               ends = binary(BinaryOp::lt, at, int_imm(count));
    if (first >= 0) return ends;
    return first + window_.results <= count ? begins : logical_and(begins, ends);
  }

  tensor::Definition& definition_;
  const WindowAxis& window_;
  const std::vector<Buffer>& parts_;
  Axes axes_;
  std::size_t axis_;
};

}  // namespace

Positions WindowAxis::positions(std::int64_t remainder) const {
  const std::int64_t begin = remainder - pad, before = begin >= 0 ? 0 : (-begin + stride - 1) / stride,
                     needed = results - before + (remainder + stride < kernel ? 1 : 0), at = begin + before * stride;
  return {at, stride, std::min(needed, at >= image ? 0 : (image - 1 - at) / stride + 1)};
}

std::int64_t WindowAxis::first(std::int64_t tap) const { return (tap - pad - positions(tap % stride).first) / stride; }

bool WindowAxis::is_inside(std::int64_t tap) const {
  return first(tap) >= 0 && first(tap) + results <= positions(tap % stride).count;
}

WindowAxis window_rows(const MaxPoolSpec& spec) {
  return {spec.kernel_h, spec.stride_h, spec.y.h, spec.pad_top, spec.x.h};
}
WindowAxis window_columns(const MaxPoolSpec& spec) {
  return {spec.kernel_w, spec.stride_w, spec.y.w, spec.pad_left, spec.x.w};
}

Buffer window_maximum(
    tensor::Definition& definition, const MaxPoolSpec& spec,
    const std::function<Buffer(const std::string& name, const Positions& rows, const Positions& columns)>& part) {
  const WindowAxis rows = window_rows(spec), columns = window_columns(spec);
  // Products first: a change between them and the ALU empties the pipe.
  std::vector<std::vector<Buffer>> parts(static_cast<std::size_t>(rows.remainders()));  // by remainder
  for (std::int64_t row = 0; row < rows.remainders(); ++row)
    for (std::int64_t column = 0; column < columns.remainders(); ++column)
      parts[static_cast<std::size_t>(row)].push_back(
          part(fmt::format("r{}c{}.", row, column), rows.positions(row), columns.positions(column)));
  std::vector<Buffer> of_rows;
  for (std::int64_t row = 0; row < rows.remainders(); ++row) {
    const Axes axes = pixel_axes(spec.y, rows.positions(row).count, spec.y.w);
    of_rows.push_back(AxisMaximum(definition, columns, parts[static_cast<std::size_t>(row)], axes, kPixelColumn)
                          .make(fmt::format("r{}.columns", row)));
  }
  return AxisMaximum(definition, rows, of_rows, pixel_axes(spec.y, spec.y.h, spec.y.w), kPixelRow).make("rows");
}

bool is_separable(const MaxPoolSpec& spec) {
  constexpr std::int64_t kMostRemainders = 3;  // each pair of them is a place
  const auto separates = [&](std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t results) {
    if (kernel == 1) return stride == 1 || results == 1;
    return dilation == 1 && kernel < 2 * stride && std::min(kernel, stride) <= kMostRemainders;
  };
  return separates(spec.kernel_h, spec.stride_h, spec.dilation_h, spec.y.h) &&
         separates(spec.kernel_w, spec.stride_w, spec.dilation_w, spec.y.w);
}

bool reduces_in_place(const MaxPoolSpec& spec) {
  return std::ranges::all_of(std::array{window_rows(spec), window_columns(spec)}, [](const WindowAxis& axis) {
    std::int64_t inside = 0;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      if (axis.positions(tap % axis.stride).count <= 0) return false;
      if (tap % axis.stride != axis.single()) inside += axis.is_inside(tap) ? 1 : -1;
      else if (!axis.is_inside(tap)) return false;
    }
    return inside >= 0;
  });
}

}  // namespace dovetail::accel
