// Parses the text of loops/print.h. Errors carry line and column; all syntax errors up to the first unrecoverable one
// are collected.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "loops/ir.h"

namespace dovetail::loops {

// Values of the sizes that a text declares, in place of those that it gives.
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

// Errors also: a size without a value, or one that the text does not declare.
Result<Program> parse_program(std::string_view text, std::string_view where, const Sizes& sizes = {});

// Parts of a program's text. An expression may name these variables, the last one of a name first, and load from these
// buffers. Errors: syntax, names.
struct VisibleNames {
  std::vector<Var> variables;
  std::vector<Buffer> buffers;
};
Result<Expr> parse_expression(std::string_view text, std::string_view where, const VisibleNames& names, DType dtype);
Result<std::vector<Region>> parse_regions(std::string_view text, std::string_view where, const VisibleNames& names);

}  // namespace dovetail::loops
