// The operators of the kit: versions, types, attributes and what takes them, from the tables of import, compiler/ops
// and the targets.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace dovetail::cli {

// docs/gen/operators.md.
Result<std::string> operators_markdown();
Result<Json> operators_json();

}  // namespace dovetail::cli
