// Arrays that should be equal, compared: what was computed against a reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ndarray.h"

namespace dovetail {

// How far elements may differ.
struct Tolerance {
  double floating = 0;       // of a float array's largest magnitude, but for halves (below); 0: equal bits
  std::int64_t integer = 0;  // of the elements of an integer array
};

// For machine code of float programs: it uses fused multiply-adds and sums in another order than the reference.
inline constexpr double kMachineCodeTolerance = 1e-4;

// Where bits need not be equal, float16 and bfloat16 may differ by eight roundings of the largest magnitude: they have
// fewer bits than other tolerances ask for. Else `floating` itself.
double tolerance_of(DType dtype, double floating);

struct Difference {
  std::int64_t count = 0, first = 0;  // elements that differ, and the position of the first of them
};

// nullopt where no element differs by more. NaNs agree with each other only. Precondition: equal dtype and shape.
std::optional<Difference> find_difference(const NdArray& expected, const NdArray& actual,
                                          const Tolerance& tolerance = {});

// "2 of 4 elements; first at [1, 0]: 3.5, expected 3"
std::string to_string(const Difference& difference, const NdArray& expected, const NdArray& actual);

}  // namespace dovetail
