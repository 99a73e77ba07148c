// The results of `dovetail evaluate`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "driver/evaluation.h"
#include "driver/metrics/metric.h"

namespace dovetail::cli {

// A line for each figure.
std::string figures_text(const std::vector<driver::Figure>& figures);
std::string agreement_text(const std::vector<driver::SampleAgreement>& agreement);
// Of the metric "accuracy": {"samples", "top1", "top5"}, the numbers of samples.
Json accuracy_json(const std::vector<driver::Figure>& figures);
// {"name", "figures"}.
Json metric_json(const driver::Metric& metric, const std::vector<driver::Figure>& figures);
Json agreement_json(const std::vector<driver::SampleAgreement>& agreement);

}  // namespace dovetail::cli
