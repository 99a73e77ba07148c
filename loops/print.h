// Text of loop programs: shown by --dump, compared in tests, and parsed by parse.h (print∘parse = identity).
#pragma once

#include <string>

#include "loops/ir.h"

namespace dovetail::loops {

std::string to_string(const Program& program);
std::string to_string(const Stmt& stmt, int indent = 0);
std::string to_string(const Expr& expr);

}  // namespace dovetail::loops
