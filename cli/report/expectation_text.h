// --expect: the tensors of a run compared with the user's tensors, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "cli/report/text.h"
#include "driver/expectation.h"

namespace dovetail::cli {

std::string expectation_text(const driver::Expectation& expectation, Amount amount);
Json expectation_json(const driver::Expectation& expectation);

}  // namespace dovetail::cli
