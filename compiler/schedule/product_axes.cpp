#include "compiler/schedule/product_axes.h"

#include <fmt/format.h>

#include "loops/product_sum.h"

namespace dovetail::schedule {

using namespace loops;

void ProductAxis::read(const Block& block, const Expr& value, VarMap& digits, Expr& inside) const {
  std::int64_t stride = extent;
  bool leading = true;
  for (const std::size_t i : iterators) {
    const Iterator& iterator = block.iterators[i];
    stride /= iterator.extent;
    if (iterator.extent == 1) {
      digits[iterator.var.get()] = int_imm(0);
      continue;
    }
    Expr digit = stride == 1 ? value : floor_div(value, stride);
    // The others restart where the preceding one continues.
    if (leading && padded != extent)
      inside = conjunction(inside, binary(BinaryOp::lt, digit, int_imm(iterator.extent)));
    digits[iterator.var.get()] = leading ? digit : floor_mod(digit, iterator.extent);
    leading = false;
  }
  if (leading && padded != extent) inside = conjunction(inside, binary(BinaryOp::lt, value, int_imm(extent)));
}

Result<ProductAxes> ProductAxes::of(const Block& block, const Contraction& contraction, const Step& step) {
  constexpr std::int64_t kLargestMultiple = 4096;
  ProductAxes made(block, contraction);
  made.axes_ = {{{"m", contraction.rows}, {"n", contraction.columns}, {"k", contraction.depth}}};
  for (std::size_t i = 0; i < made.axes_.size(); ++i) {
    ProductAxis& axis = made.axes_[i];
    DOVETAIL_ASSIGN(const std::int64_t multiple,
                    require_integer(step.arguments[i + 1], 1, "the multiple", step.primitive));
    if (multiple > kLargestMultiple)
      return refuse(step.primitive, block.name, fmt::format("the multiple {} is above {}", multiple, kLargestMultiple),
                    "give a smaller multiple");
    axis.extent = contraction.extent(block, axis.iterators);
    axis.padded = (axis.extent + multiple - 1) / multiple * multiple;
  }
  return made;
}

std::vector<AxisOfProduct> ProductAxes::order_of(const Contraction::Factor& factor, bool left) {
  const AxisOfProduct own = left ? AxisOfProduct::rows : AxisOfProduct::columns, depth = AxisOfProduct::depth;
  return factor.depth_last ? std::vector{own, depth} : std::vector{depth, own};
}

Expr ProductAxes::factor_at(bool left, const VarMap& digits, const Expr& inside) const {
  const Contraction::Factor& factor = left ? c_->left : c_->right;
  Expr value = substitute(factor.stored, digits);
  if (!inside) return value;
  // Pads with -0, since 0 * -0 = -0, and x + -0 = x for every x. The padding of rows and columns does not reach the
  // result.
  const ProductAxis& depth = (*this)[AxisOfProduct::depth];
  const bool keeps_sign = depth.padded != depth.extent && !is_product_sum(*block_);
  const Expr zero = !left && keeps_sign && is_floating(factor.stored->dtype) ? float_imm(-0.0, factor.stored->dtype)
                                                                             : constant(0, factor.stored->dtype);
  return select(inside, std::move(value), zero);
}

}  // namespace dovetail::schedule
