// The results of `dovetail compare` as text, as JSON and as a page. docs/howto/comparing.md describes every number.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/report/text.h"
#include "driver/comparison.h"

namespace dovetail::cli {

std::string comparison_text(const driver::Comparison& comparison, Amount amount);
Json comparison_json(const driver::Comparison& comparison);         // "kind": "comparison"
std::string comparison_page(const driver::Comparison& comparison);  // HTML that needs nothing but a browser

// "100 % accel", "97.2 % accel, 2.8 % cpu"
std::string shares_text(const driver::ComparedRow& row);
std::string agreement_text(const driver::ComparedRow& row);  // "equal", "differ: 3 of 10, by 0.25 at most", "-"

}  // namespace dovetail::cli
