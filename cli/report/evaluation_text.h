// The results of `dovetail evaluate`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "driver/evaluation.h"

namespace dovetail::cli {

std::string accuracy_text(const driver::Accuracy& accuracy);
std::string agreement_text(const std::vector<driver::SampleAgreement>& agreement);
Json accuracy_json(const driver::Accuracy& accuracy);
Json agreement_json(const std::vector<driver::SampleAgreement>& agreement);

}  // namespace dovetail::cli
