// What is measured: single layers, with their data, and what each element of their results must be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::bench {

// NCHW, batch 1, weights OIHW, a square window, the same padding on all sides; bias and ReLU after it.
struct Convolution {
  std::int64_t inputs, outputs, size, window, stride, pad;  // `size`: rows and columns of the input
  std::int64_t groups = 1;
  std::int64_t output_size() const { return (size + 2 * pad - window) / stride + 1; }
};
// a[m, k] times b[k, n], both row-major, nothing after it.
struct Product {
  std::int64_t m, n, k;
};

// float32: everything is. int8: activations uint8 with zero point 0, weights int8, bias and accumulators int32. A
// convolution's results are uint8, clamp(round_half_even((acc + bias) * scale), 0, 255) with one binary32 scale per
// output channel; a product's are the int32 sums. (A back end of int8 activations takes each uint8 for the int8 128
// below, zero point -128: the same numbers.)
enum class Number : std::uint8_t { float32, int8 };

struct LayerSpec {
  std::string name;
  Number number = Number::float32;
  std::variant<Convolution, Product> shape;
  double macs() const;
  // At least 100 million MACs of convolution, enough to reach a core's peak: the layers that show whether a run is to
  // be trusted.
  bool large_convolution() const;
};

struct Problem {
  LayerSpec spec;
  NdArray x, w, bias;  // a product's are a, b and nothing
  NdArray scale;       // of int8 convolutions, by output channel
};

std::span<const LayerSpec> all_layers();
Problem make_problem(const LayerSpec& spec);  // pseudo-random data, always the same

// Compares some hundred elements of a result in plain layout with their definition, evaluated in binary64 or integers.
Result<void> check_result(const Problem& problem, const NdArray& result);

}  // namespace dovetail::bench
