// Sums of p-th powers and their roots: LpPool, GlobalLpPool.
#pragma once

#include "compiler/tensor/expr.h"

namespace dovetail::ops {

// |x|^p, p >= 1.
inline loops::Expr lp_power(const loops::Expr& x, std::int64_t p) {
  if (p == 1) return tensor::absolute(x);
  if (p == 2) return tensor::square(x);
  return tensor::power(tensor::absolute(x), tensor::like(static_cast<double>(p), x));
}

// sum^(1/p)
inline loops::Expr lp_root(const loops::Expr& sum, std::int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return tensor::square_root(sum);
  return tensor::power(sum, tensor::like(1.0 / static_cast<double>(p), sum));
}

}  // namespace dovetail::ops
