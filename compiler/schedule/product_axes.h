// The axes of a contraction that becomes a product of two matrices: shared by matrix_form and stream_k.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/step.h"

namespace dovetail::schedule {

// Iterators of a block as the digits of one number, the most significant first.
struct ProductAxis {
  std::string name;
  std::vector<std::size_t> iterators;
  std::int64_t extent = 1;  // the number of its values
  std::int64_t padded = 1;  // the number of values including padding

  // Each digit of `value`, which is below `padded`, and the condition that it is below `extent`; null: always true.
  void read(const loops::Block& block, const loops::Expr& value, loops::VarMap& digits, loops::Expr& inside) const;
};

enum class AxisOfProduct : std::uint8_t { rows, columns, depth };

class ProductAxes {
 public:
  // Rows, columns and depth are rounded up to multiples of arguments 1, 2 and 3 of the step.
  static Result<ProductAxes> of(const loops::Block& block, const Contraction& contraction, const Step& step);

  const ProductAxis& operator[](AxisOfProduct axis) const { return axes_[static_cast<std::size_t>(axis)]; }
  // The axes of a factor in the order of its memory layout.
  static std::vector<AxisOfProduct> order_of(const Contraction::Factor& factor, bool left);
  // The factor at these digits; if they are not `inside` (null: they are) a number that adds nothing to a sum.
  loops::Expr factor_at(bool left, const loops::VarMap& digits, const loops::Expr& inside) const;

 private:
  ProductAxes(const loops::Block& block, const Contraction& contraction) : block_(&block), c_(&contraction) {}

  const loops::Block* block_;
  const Contraction* c_;
  std::array<ProductAxis, 3> axes_;
};

}  // namespace dovetail::schedule
