#include "bundle/code/product_batches.h"

#include <algorithm>
#include <cstddef>

namespace dovetail::bundle {

namespace {

// A leading axis of the result, and the stride along it in each operand.
struct Axis {
  std::int64_t extent = 1, a = 0, b = 0, result = 0;
};

std::int64_t stride_of(const Shape& shape, std::size_t axis_from_end) {
  if (axis_from_end > shape.size() || shape[shape.size() - axis_from_end] == 1) return 0;
  std::int64_t stride = 1;
  for (std::size_t i = 1; i < axis_from_end; ++i) stride *= shape[shape.size() - i];
  return stride;
}
std::int64_t extent_of(const Shape& shape, std::size_t axis_from_end) {
  return axis_from_end > shape.size() ? 1 : shape[shape.size() - axis_from_end];
}

}  // namespace

ProductBatches product_batches(const Shape& a, const Shape& b, bool transposed_a, bool transposed_b) {
  ProductBatches batches;
  batches.m = a[a.size() - (transposed_a ? 1 : 2)];
  batches.k = a[a.size() - (transposed_a ? 2 : 1)];
  batches.n = b[b.size() - (transposed_b ? 2 : 1)];
  // From the innermost axis outward; two axes that can be traversed as one in every operand are merged.
  std::vector<Axis> axes;
  std::int64_t result = batches.m * batches.n;
  for (std::size_t i = 3; i <= std::max(a.size(), b.size()); ++i) {
    const Axis axis{std::max(extent_of(a, i), extent_of(b, i)), stride_of(a, i), stride_of(b, i), result};
    if (axis.extent == 1) continue;
    result *= axis.extent;
    if (!axes.empty() && axis.a == axes.back().a * axes.back().extent && axis.b == axes.back().b * axes.back().extent)
      axes.back().extent *= axis.extent;
    else axes.push_back(axis);
  }
  if (!transposed_a && axes.size() == 1 && axes.front().b == 0 && axes.front().a == batches.m * batches.k) {
    batches.m *= axes.front().extent;
    axes.clear();
  }
  if (!axes.empty()) {
    const auto widest = std::ranges::max_element(axes, {}, &Axis::extent);
    batches.count = widest->extent;
    batches.stride_a = widest->a;
    batches.stride_b = widest->b;
    batches.stride_result = widest->result;
    axes.erase(widest);
  }
  batches.calls.emplace_back();
  for (const Axis& axis : axes) {
    const std::size_t before = batches.calls.size();
    for (std::int64_t i = 1; i < axis.extent; ++i)
      for (std::size_t c = 0; c < before; ++c) {
        const ProductBatches::Call call = batches.calls[c];
        batches.calls.push_back({call.a + i * axis.a, call.b + i * axis.b, call.result + i * axis.result});
      }
  }
  return batches;
}

}  // namespace dovetail::bundle
