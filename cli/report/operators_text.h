// The supported operators: versions, types, attributes and rows of targets, from the tables of import, compiler/ops and
// the targets.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::cli {

// The text of docs/gen/operators.md.
Result<std::string> operators_markdown();
Result<Json> operators_json();

}  // namespace dovetail::cli
