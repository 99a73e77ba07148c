// Regression: errors of predicted numbers. Labels: as many numbers as the output has.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "driver/metrics/kinds.h"
#include "driver/value_text.h"

namespace dovetail::driver {

Result<std::vector<Figure>> measure_errors(const Metric& metric, const MetricInputs& inputs) {
  DOVETAIL_ASSIGN(const NdArray* const output, measured_output(inputs));
  const NdArray& labels = inputs.labels;
  if (labels.count() != output->count() || labels.count() == 0)
    return bad_labels(metric,
                      fmt::format("they are {}, and the output is {}", type_text(labels.dtype(), labels.shape()),
                                  type_text(output->dtype(), output->shape())),
                      "give a number for each element, or choose another output with --output");
  const auto count = static_cast<double>(labels.count());
  double mean = 0;
  for (std::int64_t i = 0; i < labels.count(); ++i) mean += labels.as_double(i) / count;
  double absolute = 0, squares = 0, largest = 0, variance = 0;
  for (std::int64_t i = 0; i < labels.count(); ++i) {
    double error = std::abs(output->as_double(i) - labels.as_double(i));
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    absolute += error / count;
    squares += error * error / count;
    largest = std::max(largest, error);
    const double apart = labels.as_double(i) - mean;
    variance += apart * apart / count;
  }
  std::vector<Figure> figures{number_figure("mean_error", "mean error", absolute),
                              number_figure("root_mean_square_error", "RMS error", std::sqrt(squares)),
                              number_figure("largest_error", "largest error", largest)};
  if (variance > 0) figures.push_back(number_figure("r2", "R2", 1 - squares / variance));
  return figures;
}

}  // namespace dovetail::driver
