// Mean average precision of boxes, as defined by COCO's evaluation (Lin et al., ECCV 2014; cocodataset.org, detection
// evaluation): for each class, the mean over 101 recalls of the best precision at that recall or a higher one, with at
// most 100 boxes per sample and class; averaged over the classes that occur in the labels; at an overlap of 0.5, and
// averaged over overlaps of 0.5, 0.55, ..., 0.95. Labels: [boxes, 6], each the sample, the class, and the corners x1,
// y1, x2, y2.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "driver/metrics/kinds.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

struct Box {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  double area() const { return std::max(0.0, x2 - x1) * std::max(0.0, y2 - y1); }
};

struct Detection {
  Box box;
  double score = 0;
};

double overlap(const Box& a, const Box& b) {
  const Box common{std::max(a.x1, b.x1), std::max(a.y1, b.y1), std::min(a.x2, b.x2), std::min(a.y2, b.y2)};
  const double shared = common.area(), joined = a.area() + b.area() - shared;
  return joined > 0 ? shared / joined : 0;
}

using Place = std::pair<std::int64_t, std::int64_t>;  // class and sample
struct Boxes {
  std::map<Place, std::vector<Detection>> found;
  std::map<Place, std::vector<Box>> expected;
};

constexpr std::size_t kMostDetections = 100;
constexpr std::array kOverlaps{0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95};

void by_score(std::vector<Detection>& detections) {
  std::stable_sort(detections.begin(), detections.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
}

// Removes boxes that overlap one of a higher score by more than `most`.
void suppress(std::vector<Detection>& detections, double most) {
  std::vector<Detection> kept;
  for (const Detection& detection : detections)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Detection& other) { return overlap(detection.box, other.box) > most; }))
      kept.push_back(detection);
  detections = std::move(kept);
}

struct Match {
  double score;
  bool right;
};

// Each detection, by descending score, is matched with the unmatched box that it overlaps most.
void match(const std::vector<Detection>& detections, const std::vector<Box>& expected, double least,
           std::vector<Match>& matches) {
  std::vector<bool> taken(expected.size());
  for (const Detection& detection : detections) {
    double best = std::min(least, 1 - 1e-10);
    std::optional<std::size_t> found;
    for (std::size_t g = 0; g < expected.size(); ++g) {
      const double own = overlap(detection.box, expected[g]);
      if (taken[g] || own < best) continue;
      best = own, found = g;
    }
    if (found) taken[*found] = true;
    matches.push_back({detection.score, found.has_value()});
  }
}

double average_precision(std::vector<Match> matches, std::int64_t expected) {
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) { return a.score > b.score; });
  std::vector<double> recalls, precisions;
  std::int64_t right = 0;
  for (const Match& match : matches) {
    right += match.right;
    recalls.push_back(static_cast<double>(right) / static_cast<double>(expected));
    precisions.push_back(static_cast<double>(right) / static_cast<double>(recalls.size()));
  }
  for (std::size_t i = precisions.size(); i-- > 1;) precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  double sum = 0;
  for (int i = 0; i <= 100; ++i) {
    // The recalls of COCO's own program, which are not all the closest numbers to i / 100.
    const double recall = i == 100 ? 1 : i * 0.01;
    const auto at = std::lower_bound(recalls.begin(), recalls.end(), recall) - recalls.begin();
    if (at < std::ssize(precisions)) sum += precisions[static_cast<std::size_t>(at)];
  }
  return sum / 101;
}

Result<void> add_labels(const Metric& metric, const NdArray& labels, std::int64_t samples, Boxes& boxes) {
  if (labels.rank() != 2 || labels.shape()[1] != 6)
    return bad_labels(metric, fmt::format("they are {}", type_text(labels.dtype(), labels.shape())),
                      "give [boxes, 6]: sample, class, x1, y1, x2, y2");
  for (std::int64_t i = 0; i < labels.shape()[0]; ++i) {
    const auto value = [&](std::int64_t k) { return labels.as_double(i * 6 + k); };
    const auto sample = labels.as_int64(i * 6);
    if (sample < 0 || sample >= samples)
      return bad_labels(metric, fmt::format("box {} is of sample {}, and there are {} samples", i, sample, samples),
                        "count samples from 0");
    boxes.expected[{labels.as_int64(i * 6 + 1), sample}].push_back({value(2), value(3), value(4), value(5)});
  }
  return {};
}

// One output [samples, boxes, 6]: corners, score, class.
Result<void> add_joined(const Metric& metric, const NdArray& output, Boxes& boxes) {
  if (output.rank() != 3 || output.shape()[2] != 6)
    return bad_labels(metric, fmt::format("the output is {}", type_text(output.dtype(), output.shape())),
                      "it needs [samples, boxes, 6], each x1, y1, x2, y2, score, class; or name two outputs: "
                      "map:boxes=NAME,scores=NAME");
  const std::int64_t rows = output.shape()[1];
  for (std::int64_t i = 0; i < output.shape()[0] * rows; ++i) {
    const auto value = [&](std::int64_t k) { return output.as_double(i * 6 + k); };
    if (value(4) > 0)
      boxes.found[{output.as_int64(i * 6 + 5), i / rows}].push_back(
          {{value(0), value(1), value(2), value(3)}, value(4)});
  }
  return {};
}

Result<Box> box_of(const Metric& metric, const std::array<double, 4>& v) {
  const auto given = metric.options.find("form");
  const std::string form = given == metric.options.end() ? "xyxy" : given->second;
  if (form == "xyxy") return Box{v[0], v[1], v[2], v[3]};
  if (form == "xywh") return Box{v[0], v[1], v[0] + v[2], v[1] + v[3]};
  if (form == "cxcywh") return Box{v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
  return Diagnostic{"cannot read the metric", "map", fmt::format("form is \"{}\", which is unknown", form),
                    "use xyxy, xywh or cxcywh"};
}

// Two outputs: boxes [samples, boxes, 4], and the scores of their classes [samples, boxes, classes].
Result<void> add_scored(const Metric& metric, const NdArray& corners, const NdArray& scores, Boxes& boxes) {
  if (corners.rank() != 3 || corners.shape()[2] != 4 || scores.rank() != 3 || scores.shape()[0] != corners.shape()[0] ||
      scores.shape()[1] != corners.shape()[1])
    return bad_labels(metric,
                      fmt::format("boxes are {}, scores {}", type_text(corners.dtype(), corners.shape()),
                                  type_text(scores.dtype(), scores.shape())),
                      "they need [samples, boxes, 4] and [samples, boxes, classes]");
  const std::int64_t rows = corners.shape()[1], classes = scores.shape()[2];
  for (std::int64_t i = 0; i < corners.shape()[0] * rows; ++i) {
    DOVETAIL_ASSIGN(const Box box, box_of(metric, {corners.as_double(i * 4), corners.as_double(i * 4 + 1),
                                                   corners.as_double(i * 4 + 2), corners.as_double(i * 4 + 3)}));
    for (std::int64_t c = 0; c < classes; ++c)
      if (const double score = scores.as_double(i * classes + c); score > 0)
        boxes.found[{c, i / rows}].push_back({box, score});
  }
  return {};
}

}  // namespace

Result<std::vector<Figure>> measure_boxes(const Metric& metric, const MetricInputs& inputs) {
  const auto named = [&](const char* key) {
    const auto found = metric.options.find(key);
    return found == metric.options.end() ? std::optional<std::string>() : found->second;
  };
  const auto boxes_name = named("boxes"), scores_name = named("scores");
  if (boxes_name.has_value() != scores_name.has_value())
    return bad_labels(metric, "one of boxes and scores is given without the other", "map:boxes=NAME,scores=NAME");
  Boxes boxes;
  std::int64_t samples = 0;
  if (boxes_name) {
    DOVETAIL_ASSIGN(const NdArray* const corners, output_named(inputs, *boxes_name));
    DOVETAIL_ASSIGN(const NdArray* const scores, output_named(inputs, *scores_name));
    DOVETAIL_TRY(add_scored(metric, *corners, *scores, boxes));
    samples = corners->shape()[0];
  } else {
    DOVETAIL_ASSIGN(const NdArray* const output, measured_output(inputs));
    DOVETAIL_TRY(add_joined(metric, *output, boxes));
    samples = output->shape()[0];
  }
  DOVETAIL_TRY(add_labels(metric, inputs.labels, samples, boxes));
  DOVETAIL_ASSIGN(const double most, number_option(metric, "nms", 1));
  for (auto& [place, detections] : boxes.found) {
    by_score(detections);
    if (most < 1) suppress(detections, most);
    detections.resize(std::min(detections.size(), kMostDetections));
  }
  std::map<std::int64_t, std::int64_t> expected;  // boxes of each class
  for (const auto& [place, own] : boxes.expected) expected[place.first] += std::ssize(own);
  double at_half = 0, mean = 0;
  for (const auto& [kind, count] : expected)
    for (const double least : kOverlaps) {
      std::vector<Match> matches;
      for (auto place = boxes.found.lower_bound({kind, 0}); place != boxes.found.end() && place->first.first == kind;
           ++place) {
        const auto own = boxes.expected.find(place->first);
        match(place->second, own == boxes.expected.end() ? std::vector<Box>() : own->second, least, matches);
      }
      const double precision = average_precision(std::move(matches), count) / static_cast<double>(expected.size());
      if (least == kOverlaps.front()) at_half += precision;
      mean += precision / static_cast<double>(kOverlaps.size());
    }
  return std::vector{number_figure("map_50_95", "mAP 0.5-0.95", mean), number_figure("map_50", "mAP 0.5", at_half)};
}

}  // namespace dovetail::driver
