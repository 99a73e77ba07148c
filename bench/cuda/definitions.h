// Compares some hundred elements of a result with their definition, in binary64 or integers: a complete reference would
// take hours.
#pragma once

#include <cstdint>

#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/graph/graph.h"

namespace dovetail::bench {

// How a convolution of float16 or bfloat16 with a bias rounds its result.
enum class Rounding : std::uint8_t {
  once,      // what our kernels do: the sum is rounded with its bias
  each_step  // what cuDNN's algorithms may do: the sum, then what it and the bias are together
};

// a [m, k] times b [k, n]. Sums of integers are exact; floats may differ by the rounding of factors (`tf32`), of sums
// in any order, and of the result's type.
Result<void> check_product(const NdArray& result, const NdArray& a, const NdArray& b, bool tf32);

// x [n, c, h, w] with weights [outputs, c, r, s] and a bias, clamped to at least 0; strides and pads as in ONNX's
// attributes.
Result<void> check_convolution(const NdArray& result, const NdArray& x, const NdArray& w, const NdArray& bias,
                               const graph::Attributes& attributes, bool tf32, Rounding rounding);

}  // namespace dovetail::bench
