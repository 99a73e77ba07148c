#include "compiler/ops/interpolation.h"

#include "compiler/tensor/expr.h"

namespace dovetail::ops {

using loops::Expr;
using tensor::like;

std::vector<Expr> cubic_weights(const Expr& t, double a) {
  const auto outer = [&](const Expr& d) {  // 1 <= d < 2
    return ((like(a, d) * d - like(5 * a, d)) * d + like(8 * a, d)) * d - like(4 * a, d);
  };
  const auto inner = [&](const Expr& d) {  // d < 1
    return (like(a + 2, d) * d - like(a + 3, d)) * d * d + like(1, d);
  };
  const Expr one = like(1, t);
  return {outer(t + one), inner(t), inner(one - t), outer(like(2, t) - t)};
}

Expr interpolated(const std::vector<Expr>& point, Neighbors neighbors, const ElementAt& element) {
  struct AxisNeighbors {
    Expr first;
    std::vector<Expr> weights;
  };
  std::vector<AxisNeighbors> axes;
  for (const Expr& coordinate : point) {
    const Expr below = loops::unary(loops::UnaryOp::floor, coordinate), t = coordinate - below;
    const Expr at = loops::cast(DType::int64, below);
    if (neighbors == Neighbors::linear) {
      axes.push_back({at, {like(1, t) - t, t}});
    } else {
      axes.push_back({at - 1, cubic_weights(t, -0.75)});
    }
  }
  // Sums over the innermost axis first: the outer axes weight those sums.
  const std::function<Expr(std::size_t, Indices)> sum_from = [&](std::size_t axis, Indices place) -> Expr {
    if (axis == axes.size()) return element(place);
    Expr sum;
    for (std::size_t k = 0; k < axes[axis].weights.size(); ++k) {
      Indices at = place;
      at.push_back(k == 0 ? axes[axis].first : axes[axis].first + static_cast<std::int64_t>(k));
      const Expr term = axes[axis].weights[k] * sum_from(axis + 1, std::move(at));
      sum = sum ? sum + term : term;
    }
    return sum;
  };
  return sum_from(0, {});
}

}  // namespace dovetail::ops
