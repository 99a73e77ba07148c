// How products of matrices with leading axes become calls of a library that multiplies a row of matrices at equal
// distances: docs/explanation/vendor-backends.md.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ndarray.h"

namespace dovetail::bundle {

struct ProductBatches {
  std::int64_t m = 1, n = 1, k = 1;
  // Of a call: matrices, and the elements between them; 0 where one is the same for all. Those of the result lie m * n
  // apart.
  std::int64_t count = 1, stride_a = 0, stride_b = 0, stride_result = 0;
  struct Call {
    std::int64_t a = 0, b = 0, result = 0;  // elements, to the first matrix
  };
  std::vector<Call> calls;
};

// Of a [..., m, k] and b [..., k, n], stored with the last two axes exchanged where they are transposed. Precondition:
// the leading axes broadcast. Where all rows meet one b, they are one matrix.
ProductBatches product_batches(const Shape& a, const Shape& b, bool transposed_a, bool transposed_b);

}  // namespace dovetail::bundle
