// The metrics, each in its own file, and what they share.
#pragma once

#include <string>

#include "driver/metrics/metric.h"

namespace dovetail::driver {

Result<std::vector<Figure>> measure_accuracy(const Metric& metric, const MetricInputs& inputs);
Result<std::vector<Figure>> measure_masks(const Metric& metric, const MetricInputs& inputs);
Result<std::vector<Figure>> measure_errors(const Metric& metric, const MetricInputs& inputs);
Result<std::vector<Figure>> measure_sequences(const Metric& metric, const MetricInputs& inputs);
Result<std::vector<Figure>> measure_boxes(const Metric& metric, const MetricInputs& inputs);
Result<std::vector<Figure>> run_metric_program(const Metric& metric, const MetricInputs& inputs);

// The array of the output that `inputs.output` names, or of the only one.
Result<const NdArray*> measured_output(const MetricInputs& inputs);
Result<const NdArray*> output_named(const MetricInputs& inputs, const std::string& name);

// Number and integer options; `otherwise` if the option is not given.
Result<double> number_option(const Metric& metric, const std::string& name, double otherwise);
Result<std::int64_t> integer_option(const Metric& metric, const std::string& name, std::int64_t otherwise);

Diagnostic bad_labels(const Metric& metric, std::string why, std::string hint);

// "359 of 360, 99.72 %", with the share as value.
Figure share_figure(std::string key, std::string name, std::int64_t part, std::int64_t whole);
Figure number_figure(std::string key, std::string name, double value);

}  // namespace dovetail::driver
