#include "compiler/ops/window.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

// Larger than any model's windows, and small enough that no sum or product below overflows.
constexpr std::int64_t kMost = INT32_MAX;

// Attribute `name` with `count` entries of at least `least`.
Shape read_list(const Operands& operands, std::string_view name, std::size_t count, std::int64_t fallback,
                std::int64_t least, Diagnostics& errors) {
  const Shape values = graph::ints_attribute(operands.node, name, Shape(count, fallback));
  if (values.size() != count) {
    errors.push_back(refuse(operands, fmt::format("{} has {} entries, {} are expected", name, values.size(), count),
                            "give one per spatial axis (pads: two)"));
    return Shape(count, fallback);
  }
  for (const std::int64_t value : values)
    if (value < least) {
      errors.push_back(refuse(operands,
                              fmt::format("{} contains {}, but its values must be at least {}", name, value, least),
                              "fix the exporter"));
      return Shape(count, fallback);
    } else if (value > kMost) {
      errors.push_back(refuse(operands,
                              fmt::format("{} contains {}, but its values must be at most {}", name, value, kMost),
                              "fix the exporter"));
      return Shape(count, fallback);
    }
  return values;
}

// SAME: ceil(input / stride) outputs; the larger half of an odd padding goes to the end (upper) or the beginning
// (lower).
void pad_to_same(Window& window, std::size_t axis, bool upper) {
  window.output[axis] = (window.input[axis] + window.strides[axis] - 1) / window.strides[axis];
  const std::int64_t total = std::max<std::int64_t>(window.touched(axis) - window.input[axis], 0);
  window.pad_begin[axis] = upper ? total / 2 : (total + 1) / 2;
  window.pad_end[axis] = total - window.pad_begin[axis];
}

std::int64_t output_extent(const Window& window, std::size_t axis, bool ceil_mode) {
  const std::int64_t padded = window.input[axis] + window.pad_begin[axis] + window.pad_end[axis];
  const std::int64_t slack = padded - window.span(axis);
  if (slack < 0) return 0;
  std::int64_t extent = slack / window.strides[axis] + 1;
  // A last partial window counts only if it begins in the input or the pads before it.
  if (ceil_mode && slack % window.strides[axis] != 0 &&
      extent * window.strides[axis] < window.input[axis] + window.pad_begin[axis])
    ++extent;
  return extent;
}

// The first window without a tap in the input. A window that begins in the input has its first tap there, so only the
// windows before those and the first one after them are checked.
std::optional<std::int64_t> first_empty_window(const Window& window, std::size_t axis) {
  const std::int64_t stride = window.strides[axis], dilation = window.dilations[axis], pad = window.pad_begin[axis],
                     input = window.input[axis];
  // The first tap after the pads at the start covers element (start mod dilation), which repeats with the windows.
  const std::int64_t before =
      std::min({window.output[axis], (pad + stride - 1) / stride, dilation / std::gcd(stride, dilation)});
  for (std::int64_t p = 0; p < before; ++p) {
    const std::int64_t missing = pad - p * stride;  // elements from the window's start to the input's
    const std::int64_t tap = (missing + dilation - 1) / dilation;
    if (tap >= window.kernel[axis] || tap * dilation - missing >= input) return p;
  }
  const std::int64_t after = (input + pad + stride - 1) / stride;
  return after < window.output[axis] ? std::optional(after) : std::nullopt;
}

}  // namespace

bool Window::pads_anything() const {
  for (std::size_t axis = 0; axis < rank(); ++axis)
    if (pad_begin[axis] > 0 || touched(axis) > input[axis]) return true;
  return false;
}

Window Window::clipped() const {
  Window window = *this;
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    const std::int64_t dilation = dilations[axis], last_start = (output[axis] - 1) * strides[axis];
    // The last window is the first to leave the pads at the start, the first window the last to reach the end pads.
    const std::int64_t missing = std::max<std::int64_t>(pad_begin[axis] - last_start, 0);
    const std::int64_t first =
        std::min({(missing + dilation - 1) / dilation, pad_begin[axis] / dilation, kernel[axis] - 1});
    const std::int64_t end = (pad_begin[axis] + input[axis] + dilation - 1) / dilation;
    window.kernel[axis] = std::min(kernel[axis], end) - first;
    window.pad_begin[axis] -= first * dilation;
    window.pad_end[axis] = std::max<std::int64_t>(window.touched(axis) - input[axis] - window.pad_begin[axis], 0);
  }
  return window;
}

std::vector<AttributeRule> window_attributes(std::vector<AttributeRule> others) {
  for (const std::string_view name : {"dilations", "kernel_shape", "pads", "strides"})
    others.push_back({name, AttributeKind::integers});
  others.push_back({"auto_pad", AttributeKind::text});
  return others;
}

Result<Window> make_window(const Operands& operands, const Shape& kernel) {
  const Shape& shape = operands.type(0).shape;
  const std::size_t rank = kernel.size();
  if (rank == 0 || shape.size() != rank + 2)
    return refuse(
        operands,
        fmt::format("input of shape {} has {} spatial axes, but the kernel has {}", to_string(shape),
                    static_cast<std::int64_t>(shape.size()) - 2, rank),
        "the input must be [batch, channels, spatial...], with as many spatial axes as the kernel, at least one");
  Diagnostics errors;
  Window window;
  window.input.assign(shape.begin() + 2, shape.end());
  window.kernel = kernel;
  if (read_list(operands, "kernel_shape", rank, 1, 1, errors) != kernel &&
      operands.node.attributes.contains("kernel_shape") && errors.empty())
    errors.push_back(
        refuse(operands,
               fmt::format("kernel_shape is {}, but the weight's kernel is {}",
                           to_string(graph::ints_attribute(operands.node, "kernel_shape", {})), to_string(kernel)),
               "make them equal, or remove the attribute"));
  for (const std::int64_t extent : kernel)
    if (extent < 1 || extent > kMost)
      errors.push_back(refuse(operands,
                              fmt::format("kernel {} has an extent below 1 or above {}", to_string(kernel), kMost),
                              "fix the exporter"));
  window.strides = read_list(operands, "strides", rank, 1, 1, errors);
  window.dilations = read_list(operands, "dilations", rank, 1, 1, errors);
  const Shape pads = read_list(operands, "pads", 2 * rank, 0, 0, errors);
  window.pad_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.pad_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  window.output.assign(rank, 0);

  const std::string auto_pad = graph::string_attribute(operands.node, "auto_pad", "NOTSET");
  const bool upper = auto_pad == "SAME_UPPER", lower = auto_pad == "SAME_LOWER";
  if (!upper && !lower && auto_pad != "NOTSET" && auto_pad != "VALID")
    errors.push_back(refuse(
        operands, fmt::format("auto_pad is \"{}\", but must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", auto_pad),
        "fix the exporter"));
  if (auto_pad != "NOTSET" && std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; }))
    errors.push_back(refuse(operands, fmt::format("auto_pad is {}, but pads are given: [{}]", auto_pad, join(pads)),
                            "give one of the two"));
  std::int64_t taps = 1;
  for (const std::int64_t extent : kernel)
    if (errors.empty() && __builtin_mul_overflow(taps, extent, &taps))
      errors.push_back(
          refuse(operands, fmt::format("kernel {} has more than 2^63 taps", to_string(kernel)), "fix the exporter"));
  if (!errors.empty()) return errors;

  // Without pads, partial windows are dropped whatever ceil_mode says: the standard's formula for VALID rounds down.
  const bool ceil_mode = graph::int_attribute(operands.node, "ceil_mode", 0) != 0 && auto_pad != "VALID";
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (upper || lower) {
      pad_to_same(window, axis, upper);
    } else {
      window.output[axis] = output_extent(window, axis, ceil_mode);
    }
    if (window.output[axis] < 1)
      errors.push_back(
          refuse(operands,
                 fmt::format("window of {} elements (kernel {}, dilation {}) > padded input of {} on spatial axis {}",
                             window.span(axis), window.kernel[axis], window.dilations[axis],
                             window.input[axis] + window.pad_begin[axis] + window.pad_end[axis], axis),
                 "use a larger input, more padding or a smaller kernel"));
  }
  if (!errors.empty()) return errors;
  return window;
}

Result<void> require_filled_windows(const Operands& operands, const Window& window) {
  for (std::size_t axis = 0; axis < window.rank(); ++axis)
    if (const auto empty = first_empty_window(window, axis)) {
      const std::int64_t p = *empty;
      return refuse(
          operands,
          fmt::format("window {} on spatial axis {} covers only padding (kernel {}, pads {} and {}, input {})", p, axis,
                      window.kernel[axis], window.pad_begin[axis], window.pad_end[axis], window.input[axis]),
          "use pads smaller than the kernel");
    }
  return {};
}

loops::Buffer pad_spatial(Naive& program, const loops::Buffer& x, const Window& window, const loops::Expr& fill) {
  if (!window.pads_anything()) return x;
  Shape padded(x->shape.begin(), x->shape.begin() + 2);
  for (std::size_t axis = 0; axis < window.rank(); ++axis) padded.push_back(window.touched(axis));
  return program.compute("pad", x->dtype, image_axes(padded), [&](const Indices& i) {
    Indices source = i;
    loops::Expr inside;
    const auto require = [&](loops::Expr condition) {
      inside = inside ? loops::logical_and(std::move(inside), std::move(condition)) : std::move(condition);
    };
    for (std::size_t axis = 0; axis < window.rank(); ++axis) {
      loops::Expr& position = source[axis + 2];
      const std::int64_t begin = window.pad_begin[axis], extent = window.input[axis];
      if (begin > 0) require(tensor::less_equal(tensor::index(begin), position));
      if (window.touched(axis) > begin + extent) require(tensor::less(position, tensor::index(begin + extent)));
      if (begin > 0) position = position - begin;
    }
    const loops::Expr element = loops::load(x, source);
    return inside ? loops::select(inside, element, fill) : element;
  });
}

Indices window_indices(const Window& window, Indices leading, std::span<const loops::Expr> positions,
                       std::span<const loops::Expr> taps) {
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    const loops::Expr start = window.strides[axis] == 1 ? positions[axis] : positions[axis] * window.strides[axis];
    const loops::Expr offset = window.dilations[axis] == 1 ? taps[axis] : taps[axis] * window.dilations[axis];
    leading.push_back(start + offset);
  }
  return leading;
}

}  // namespace dovetail::ops
