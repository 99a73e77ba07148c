// --expect: the tensors of a run against the user's own, for people and for machines.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/expectation.h"

namespace dovetail::cli {

std::string expectation_text(const driver::Expectation& expectation);
Json expectation_json(const driver::Expectation& expectation);

}  // namespace dovetail::cli
