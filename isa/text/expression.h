// Constant expressions: 64 bits, signed, every overflow an error.
#pragma once

#include <optional>
#include <string>

#include "isa/text/scan.h"
#include "isa/text/symbols.h"

namespace dovetail::isa::text {

struct ExpressionFault {
  std::size_t column = 1;
  std::string why, hint;
  bool is_undefined = false;  // a name that a later line may define
  bool is_reported = false;   // it uses a name whose line has an error that is already reported
};
// Reports it as an error of the line, unless it is reported already. `backward`: only earlier lines count.
void report(ExpressionFault fault, const Line& line, bool backward, Errors& errors);

// The value of the whole word, or `fault`. By precedence, as in C: | ^ & << >> + - * / % and the unary - + ~; brackets;
// min(a,b), max(a,b), ceildiv(a,b), align(a,b). An address plus or minus a number is an address, the difference of two
// is a number, and so is every other combination.
std::optional<Value> evaluate(Word word, const Symbols& symbols, ExpressionFault& fault);

// Whether the text has an operator outside parentheses, so that it needs parentheses as part of another expression.
bool is_compound(std::string_view text);

}  // namespace dovetail::isa::text
