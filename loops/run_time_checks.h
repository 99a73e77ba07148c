// Properties of an expression that can only be checked at run time.
#pragma once

#include "loops/ir.h"

namespace dovetail::loops {

bool holds_load(const Expr& expr);  // its value depends on data
// An integer operation that has no result for some operands: a division whose divisor may be 0, a power whose exponent
// may be negative (0 to the power of -1).
bool may_divide_by_zero(const Binary& operation);

}  // namespace dovetail::loops
