// Blocks that an operator's definition declares to be a sum of products: MatMul, Conv, ReduceSumSquare. The back end
// may choose the rounding of their float sums: it may round a * b + c once and add the products in another order. All
// other operations of a loop program are rounded separately.
#pragma once

#include <string_view>

#include "loops/ir.h"

namespace dovetail::loops {

// The annotation `@sum("products")` of a block whose body is s[...] = s[...] + a * b.
inline constexpr std::string_view kSumAnnotation = "sum", kProductSum = "products";

bool is_product_sum(const Block& block);
// The program without the annotation: every operation is rounded separately, and sums follow the order of the loops.
Program with_fixed_rounding(Program program);

}  // namespace dovetail::loops
