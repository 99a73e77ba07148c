// Masks of classes (semantic segmentation). The output has the scores of each class along its second axis, or one
// probability for each pixel (classes 0 and 1), or the classes themselves. Labels: integers, one for each pixel. A
// pixel with a score that is NaN has no class, and no label is right for it.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "driver/metrics/kinds.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

constexpr std::int64_t kNoClass = -1;

// The class of each pixel, in the order of the labels.
std::vector<std::int64_t> classes_of_scores(const NdArray& scores) {
  const std::int64_t samples = scores.shape()[0], classes = scores.shape()[1],
                     pixels = scores.count() / std::max<std::int64_t>(1, samples * classes);
  std::vector<std::int64_t> found(static_cast<std::size_t>(samples * pixels));
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t p = 0; p < pixels; ++p) {
      const auto score = [&](std::int64_t c) { return scores.as_double((n * classes + c) * pixels + p); };
      std::int64_t best = 0;
      bool is_nan = false;
      for (std::int64_t c = 0; c < classes; ++c) {
        is_nan |= std::isnan(score(c));
        if (score(c) > score(best)) best = c;
      }
      found[static_cast<std::size_t>(n * pixels + p)] = is_nan ? kNoClass : best;
    }
  return found;
}

}  // namespace

Result<std::vector<Figure>> measure_masks(const Metric& metric, const MetricInputs& inputs) {
  DOVETAIL_ASSIGN(const NdArray* const output, measured_output(inputs));
  DOVETAIL_ASSIGN(const double threshold, number_option(metric, "threshold", 0.5));
  DOVETAIL_ASSIGN(const std::int64_t ignore, integer_option(metric, "ignore", -1));
  const NdArray& labels = inputs.labels;
  if (is_floating(labels.dtype())) return bad_labels(metric, "they are not integers", "give the class of each pixel");
  std::vector<std::int64_t> found;
  if (output->count() == labels.count() && output->rank() > 0 && labels.rank() > 0 &&
      output->shape()[0] == labels.shape()[0]) {
    const bool scores = is_floating(output->dtype());
    for (std::int64_t i = 0; i < labels.count(); ++i) {
      if (!scores) found.push_back(output->as_int64(i));
      else if (std::isnan(output->as_double(i))) found.push_back(kNoClass);
      else found.push_back(static_cast<std::int64_t>(output->as_double(i) > threshold));
    }
  } else if (output->rank() >= 3 && output->shape()[0] == labels.shape()[0] &&
             output->count() == labels.count() * output->shape()[1]) {
    found = classes_of_scores(*output);
  } else {
    return bad_labels(metric,
                      fmt::format("they are {}, and the output is {}", type_text(labels.dtype(), labels.shape()),
                                  type_text(output->dtype(), output->shape())),
                      "give the class of each pixel, or choose another output with --output: its second axis has the "
                      "scores of the classes");
  }
  // For each class: the pixels that have it in both output and labels (intersection), and in at least one of them
  // (union).
  std::vector<std::int64_t> both, either;
  std::int64_t right = 0, counted = 0;
  const auto grow = [&](std::int64_t label) {
    both.resize(std::max(both.size(), static_cast<std::size_t>(label) + 1));
    either.resize(both.size());
  };
  constexpr std::int64_t kMostClasses = 1 << 20;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t label = labels.as_int64(i), own = found[static_cast<std::size_t>(i)];
    if (metric.options.contains("ignore") && label == ignore) continue;
    const bool has_class = !is_floating(output->dtype()) || own != kNoClass;
    for (const std::int64_t value : {label, has_class ? own : 0})
      if (value < 0 || value >= kMostClasses)
        return bad_labels(metric, fmt::format("a pixel has the class {}", value),
                          "classes are 0, 1, ...; leave a label out with iou:ignore=LABEL");
    ++counted;
    grow(std::max(label, own));
    right += label == own;
    both[static_cast<std::size_t>(label)] += label == own;
    ++either[static_cast<std::size_t>(label)];
    if (label != own && has_class) ++either[static_cast<std::size_t>(own)];
  }
  double sum = 0;
  std::int64_t classes = 0;
  for (std::size_t c = 0; c < both.size(); ++c) {
    if (either[c] == 0) continue;
    ++classes;
    sum += static_cast<double>(both[c]) / static_cast<double>(either[c]);
  }
  Figure mean = number_figure("mean_iou", "mean IoU", classes == 0 ? 0 : sum / static_cast<double>(classes));
  mean.text += fmt::format(" of {} class{}", classes, classes == 1 ? "" : "es");
  return std::vector{mean, share_figure("pixel_accuracy", "pixels", right, counted)};
}

}  // namespace dovetail::driver
