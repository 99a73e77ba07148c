// Parses the text of loops/print.h. Errors carry line and column; all syntax errors up to the first unrecoverable one
// are collected.
#pragma once

#include <string_view>

#include "base/result.h"
#include "loops/ir.h"

namespace dovetail::loops {

Result<Program> parse_program(std::string_view text, std::string_view where);

}  // namespace dovetail::loops
