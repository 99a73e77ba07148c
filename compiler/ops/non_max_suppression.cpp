// NonMaxSuppression: for each batch and class, the boxes with the highest scores that do not overlap a better one by
// more than a threshold. Their number depends on data, so operands are constants here; bounded.cpp handles values that
// are computed at run time.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/value_dependent.h"

namespace dovetail::ops {
namespace {

// Limit on the pairs of boxes compared at compile time, which takes seconds. Boxes that never overlap need the square
// of their number.
constexpr std::int64_t kMostComparisons = 1'000'000'000;

struct Box {
  float y_low, x_low, y_high, x_high;

  float area() const { return (y_high - y_low) * (x_high - x_low); }
};

// [y1, x1, y2, x2] of two opposite corners, or [x, y, width, height] of a center.
Box box_of(std::span<const float> corners, bool center) {
  if (!center) {
    const auto [y_low, y_high] = std::minmax(corners[0], corners[2]);
    const auto [x_low, x_high] = std::minmax(corners[1], corners[3]);
    return {y_low, x_low, y_high, x_high};
  }
  const float half_width = corners[2] / 2, half_height = corners[3] / 2;
  return {corners[1] - half_height, corners[0] - half_width, corners[1] + half_height, corners[0] + half_width};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x_high, b.x_high) - std::max(a.x_low, b.x_low),
              height = std::min(a.y_high, b.y_high) - std::max(a.y_low, b.y_low);
  if (!(width > 0) || !(height > 0)) return false;
  const float common = width * height, both = a.area() + b.area() - common;
  if (a.area() <= 0 || b.area() <= 0 || both <= 0) return false;
  return common / both > threshold;
}

Result<void> check_boxes(const Operands& operands) {
  const Shape &boxes = operands.type(0).shape, &scores = operands.type(1).shape;
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
    return refuse(operands, fmt::format("boxes has shape {}, scores {}", to_string(boxes), to_string(scores)),
                  "they must be [batches, boxes, 4] and [batches, classes, boxes]");
  for (std::size_t i = 2; i < operands.count(); ++i)
    if (operands.has(i) && operands.constant(i)->count() != 1)
      return refuse(operands, fmt::format("input {} has {} elements, expected 1", i, operands.constant(i)->count()),
                    "give one number");
  return {};
}

// Rows of (batch, class, box), best first within a class.
Result<std::vector<NdArray>> evaluate_suppression(const Operands& operands) {
  DOVETAIL_TRY(check_boxes(operands));
  const Shape& scores_shape = operands.type(1).shape;
  const std::int64_t batches = scores_shape[0], classes = scores_shape[1], count = scores_shape[2];
  const auto boxes = operands.constant(0)->data<float>(), scores = operands.constant(1)->data<float>();
  const auto number = [&](std::size_t input) {
    return operands.has(input) ? static_cast<float>(operands.constant(input)->as_double(0)) : 0.0F;
  };
  const std::int64_t most = operands.has(2) ? operands.constant(2)->as_int64(0) : 0;
  const float threshold = number(3);
  const bool center = graph::int_attribute(operands.node, "center_point_box", 0) != 0;
  std::vector<std::int64_t> selected;
  std::int64_t comparisons = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const auto box = [&](std::int64_t i) {
      return box_of(boxes.subspan(static_cast<std::size_t>((batch * count + i) * 4), 4), center);
    };
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto score = [&](std::int64_t i) {
        return scores[static_cast<std::size_t>((batch * classes + c) * count + i)];
      };
      std::vector<std::int64_t> candidates;
      std::vector<Box> kept;
      for (std::int64_t i = 0; i < count; ++i)
        if (!operands.has(4) || score(i) > number(4)) candidates.push_back(i);
      std::ranges::stable_sort(candidates, [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
      for (const std::int64_t i : candidates) {
        if (static_cast<std::int64_t>(kept.size()) >= most) break;
        comparisons += static_cast<std::int64_t>(kept.size());
        if (comparisons > kMostComparisons)
          return refuse(operands,
                        fmt::format("{} boxes of {} classes need more than {} comparisons at compile time", count,
                                    classes, kMostComparisons),
                        "lower max_output_boxes_per_class, or raise score_threshold");
        const Box here = box(i);
        if (std::ranges::any_of(kept, [&](const Box& better) { return overlaps(here, better, threshold); })) continue;
        kept.push_back(here);
        selected.insert(selected.end(), {batch, c, i});
      }
    }
  }
  return std::vector{NdArray::from<std::int64_t>({static_cast<std::int64_t>(selected.size()) / 3, 3}, selected)};
}

}  // namespace

std::vector<OpDef> non_max_suppression_ops() {
  constexpr auto optional = Presence::optional;
  return {value_dependent("NonMaxSuppression", evaluate_suppression,
                          {{{"boxes", kFloat32},
                            {"scores", kFloat32},
                            {"max_output_boxes_per_class", kInt64, 0, optional},
                            {"iou_threshold", kFloat32, 0, optional},
                            {"score_threshold", kFloat32, 0, optional}},
                           {{"center_point_box", AttributeKind::integer}}})};
}

}  // namespace dovetail::ops
