// Top-1 and top-5 of the scores of classes. Labels: integers, one for each sample. The scores of a sample's classes are
// all elements of its row; of equal scores the first counts. NaN ranks before all numbers, and no label that has it is
// right.
#include <cmath>

#include <fmt/format.h>

#include "driver/metrics/kinds.h"
#include "driver/value_text.h"

namespace dovetail::driver {

Result<std::vector<Figure>> measure_accuracy(const Metric& metric, const MetricInputs& inputs) {
  DOVETAIL_ASSIGN(const NdArray* const output, measured_output(inputs));
  const NdArray &scores = *output, &labels = inputs.labels;
  if (is_floating(labels.dtype()))
    return bad_labels(metric, "they are not integers", "give the index of each sample's class");
  if (scores.rank() < 2 || scores.shape()[0] != labels.count())
    return bad_labels(metric,
                      fmt::format("there are {} labels, and the output is {}", labels.count(),
                                  type_text(scores.dtype(), scores.shape())),
                      "give one label for each sample, or choose another output with --output");
  const std::int64_t classes = labels.count() == 0 ? 0 : scores.count() / labels.count();
  std::int64_t top1 = 0, top5 = 0;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    const std::int64_t label = labels.as_int64(i);
    if (label < 0 || label >= classes)
      return bad_labels(metric, fmt::format("label {} of sample {} is outside 0 to {}", label, i, classes - 1),
                        "give indices of classes, or choose another output with --output");
    // The label's rank: the number of scores that are larger, or equal and before it.
    const double own = scores.as_double(i * classes + label);
    std::int64_t before = std::isnan(own) ? classes : 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const double score = scores.as_double(i * classes + c);
      before += std::isnan(score) || score > own || (score == own && c < label);
    }
    top1 += before == 0;
    top5 += before < 5;
  }
  std::vector<Figure> figures{share_figure("top1", "top-1", top1, labels.count())};
  if (classes > 5) figures.push_back(share_figure("top5", "top-5", top5, labels.count()));
  return figures;
}

}  // namespace dovetail::driver
