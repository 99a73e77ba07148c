// The explanation of `dovetail compare --explain` as text and as a page. docs/howto/comparing.md describes every
// number.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/report/text.h"

namespace dovetail::cli {

// Both take what driver::explain() returns, and throw Json::exception if a member is missing or has another type.
std::string explanation_text(const Json& explanation, Amount amount);
std::string explanation_page(const Json& explanation);

}  // namespace dovetail::cli
