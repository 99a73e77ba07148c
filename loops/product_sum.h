// Blocks that an operator's definition calls one sum of products: MatMul, Conv, ReduceSumSquare. How their float sums
// are rounded is left to the back end, which may round a * b + c once and add the products in another order. Everywhere
// else each operation of a loop program rounds by itself.
#pragma once

#include <string_view>

#include "loops/ir.h"

namespace dovetail::loops {

// The annotation `@sum("products")` of a block whose body is s[...] = s[...] + a * b.
inline constexpr std::string_view kSumAnnotation = "sum", kProductSum = "products";

bool is_product_sum(const Block& block);
// The program without the annotation: every operation rounds by itself, in the order of the loops.
Program with_fixed_rounding(Program program);

}  // namespace dovetail::loops
