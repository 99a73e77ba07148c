// Maps products of matrices with leading axes to calls of a library that multiplies batches of equally spaced matrices:
// docs/explanation/vendor-backends.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ndarray.h"

namespace dovetail::bundle {

struct ProductBatches {
  std::int64_t m = 1, n = 1, k = 1;
  // Per call: the number of matrices, and the stride between them in elements; 0 if all use the same matrix. The
  // result's stride is m * n.
  std::int64_t count = 1, stride_a = 0, stride_b = 0, stride_result = 0;
  struct Call {
    std::int64_t a = 0, b = 0, result = 0;  // elements before the first matrix
  };
  std::vector<Call> calls;
};

// For a [..., m, k] and b [..., k, n], whose last two axes are exchanged if transposed. Precondition: the leading axes
// broadcast. If all rows use one b, they form one matrix.
ProductBatches product_batches(const Shape& a, const Shape& b, bool transposed_a, bool transposed_b);

}  // namespace dovetail::bundle
