// Comparison of computed arrays with a reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ndarray.h"

namespace dovetail {

// Tolerances.
struct Tolerance {
  double floating =
      0;  // relative to a float array's largest magnitude, except for 16-bit floats (below); 0: equal bits
  std::int64_t integer = 0;  // absolute, for elements of integer arrays
};

// For machine code of float programs, which uses fused multiply-adds and sums in another order than the reference.
inline constexpr double kMachineCodeTolerance = 1e-4;

// If bits need not be equal, float16 and bfloat16 may differ by eight roundings of the largest magnitude, as they have
// fewer bits than the tolerances assume. For other types, `floating` itself.
double tolerance_of(DType dtype, double floating);

struct Difference {
  std::int64_t count = 0, first = 0;  // elements that differ, and the position of the first one
};

// nullopt if no element differs by more. NaNs agree only with each other. Precondition: equal dtype and shape.
std::optional<Difference> find_difference(const NdArray& expected, const NdArray& actual,
                                          const Tolerance& tolerance = {});

// "2 of 4 elements; first at [1, 0]: 3.5, expected 3"
std::string to_string(const Difference& difference, const NdArray& expected, const NdArray& actual);

}  // namespace dovetail
