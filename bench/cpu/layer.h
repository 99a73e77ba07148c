// The measured layers, with their data and the definition of each element of their results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::bench {

// NCHW, batch 1, weights OIHW, a square window, the same padding on all sides; followed by bias and ReLU.
struct Convolution {
  std::int64_t inputs, outputs, size, window, stride, pad;  // `size`: rows and columns of the input
  std::int64_t groups = 1;
  std::int64_t output_size() const { return (size + 2 * pad - window) / stride + 1; }
};
// a[m, k] times b[k, n], both row-major, without a following operator.
struct Product {
  std::int64_t m, n, k;
};

// float32: all data. int8: activations uint8 with zero point 0, weights int8, bias and accumulators int32. A
// convolution's results are uint8, clamp(round_half_even((acc + bias) * scale), 0, 255) with one binary32 scale per
// output channel; a product's are the int32 sums. (A back end with int8 activations maps each uint8 to the int8 that is
// 128 less, zero point -128: the same numbers.)
enum class Number : std::uint8_t { float32, int8 };

struct LayerSpec {
  std::string name;
  Number number = Number::float32;
  std::variant<Convolution, Product> shape;
  double macs() const;
  // Convolutions with at least 100 million MACs, enough to reach a core's peak: these layers show whether a run is
  // trustworthy.
  bool large_convolution() const;
};

struct Problem {
  LayerSpec spec;
  NdArray x, w, bias;  // for a product: a, b and empty
  NdArray scale;       // of int8 convolutions, per output channel
};

std::span<const LayerSpec> all_layers();
Problem make_problem(const LayerSpec& spec);  // pseudo-random data, always the same

// Compares some hundred elements of a result in plain layout with their definition, evaluated in binary64 or integers.
Result<void> check_result(const Problem& problem, const NdArray& result);

}  // namespace dovetail::bench
