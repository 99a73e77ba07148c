// The results of `dovetail compare` as text, as JSON and as a page. docs/howto/comparing.md describes every number.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "cli/report/text.h"
#include "driver/comparison.h"

namespace dovetail::cli {

std::string comparison_text(const driver::Comparison& comparison, Amount amount);
Json comparison_json(const driver::Comparison& comparison);  // "kind": "comparison"
// A self-contained HTML page of that JSON. Throws Json::exception if a member is missing or has another type.
std::string comparison_page(const Json& comparison);

// "100 % accel", "97.2 % accel, 2.8 % cpu"
std::string shares_text(const std::map<std::string, double>& shares);
std::string agreement_text(const Json& agreement);  // "equal", "differ: 3 of 10, by 0.25 at most", "-"

}  // namespace dovetail::cli
