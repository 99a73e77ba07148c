// Whether two runs gave the same bits; all NaNs count as equal.
#pragma once

#include <cmath>

#include "base/ndarray.h"

namespace dovetail::loops::test {

inline bool same_values(const NdArray& a, const NdArray& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    if (!is_floating(a.dtype())) {
      if (a.as_int64(i) != b.as_int64(i)) return false;
      continue;
    }
    const double x = a.as_double(i), y = b.as_double(i);
    const bool equal = std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
    if (!equal) return false;
  }
  return true;
}

}  // namespace dovetail::loops::test
