// Metrics of a model's outputs on labeled samples. The first axis of outputs and labels counts samples, unless a metric
// says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::driver {

struct Figure {
  std::string key;   // in JSON: "mean_iou"
  std::string name;  // in text: "mean IoU"
  double value = 0;
  std::string text;                  // of the value: "0.7312", "359 of 360, 99.72 %"
  std::int64_t part = 0, whole = 0;  // if the value is a share
};

struct MetricInputs {
  const std::map<std::string, NdArray>& outputs;  // of all samples, by name
  const NdArray& labels;
  std::optional<std::string> output;  // the output that is measured; absent: the only one
};

// A metric and its options, as in "iou:ignore=255". Options that are not given have defaults.
struct Metric {
  std::string name;
  std::map<std::string, std::string> options;
};

struct MetricKind {
  std::string_view name, summary;
  std::vector<std::pair<std::string_view, std::string_view>> options;  // name and meaning
  Result<std::vector<Figure>> (*measure)(const Metric& metric, const MetricInputs& inputs);
};
const std::vector<MetricKind>& metric_kinds();

// Error: no such metric or option.
Result<Metric> parse_metric(std::string_view text);

// Errors: outputs and labels that do not fit the metric, options that are not of their type.
Result<std::vector<Figure>> measure(const Metric& metric, const MetricInputs& inputs);

}  // namespace dovetail::driver
