#include "bench/cuda/definitions.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/random.h"

namespace dovetail::bench {
namespace {

constexpr int kSamples = 200;

// A sum of products, and the sum of their magnitudes, which bounds the rounding error.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double a, double b) {
    value += a * b;
    magnitude += std::abs(a * b);
  }
};

// Slightly more than half a unit in the last place of the result's type.
double rounding(DType type) {
  switch (type) {
    case DType::float16: return 6e-4;
    case DType::bfloat16: return 5e-3;
    default: return 1e-6;
  }
}

// `more`: additional absolute error that the result may have.
bool is_right(double got, double expected, const Sum& sum, DType type, bool tf32, double more = 0) {
  if (!is_floating(type)) return got == expected;
  constexpr double kOfSums = 2e-6, kOfTf32 = 1e-3;  // binary32 sums in any order; 2^-11 per factor
  return std::abs(got - expected) <=
         rounding(type) * std::abs(expected) + more + (kOfSums + (tf32 ? kOfTf32 : 0)) * sum.magnitude;
}

Diagnostic wrong(std::string what, std::string where, double got, double expected) {
  return {"wrong result", std::move(what), fmt::format("{} is {}, expected {}", where, got, expected),
          "the kernel or the library computes a different function"};
}

}  // namespace

Result<void> check_product(const NdArray& result, const NdArray& a, const NdArray& b, bool tf32) {
  const std::int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  if (result.shape() != Shape{m, n})
    return Diagnostic{"wrong result", "a product", "its shape is " + to_string(result.shape()), ""};
  SplitMix64 random(1);
  for (int sample = 0; sample < kSamples; ++sample) {
    // Corners first.
    const std::int64_t row =
        sample < 4 ? (sample & 1) * (m - 1) : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(m));
    const std::int64_t column =
        sample < 4 ? (sample >> 1) * (n - 1) : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(n));
    Sum sum;
    for (std::int64_t i = 0; i < k; ++i) sum.add(a.as_double(row * k + i), b.as_double(i * n + column));
    if (const double got = result.as_double(row * n + column); !is_right(got, sum.value, sum, result.dtype(), tf32))
      return wrong(fmt::format("a product of {} by {}", to_string(a.shape()), to_string(b.shape())),
                   fmt::format("element [{}, {}]", row, column), got, sum.value);
  }
  return {};
}

Result<void> check_convolution(const NdArray& result, const NdArray& x, const NdArray& w, const NdArray& bias,
                               const graph::Attributes& attributes, bool tf32, Rounding how) {
  const auto& strides = std::get<std::vector<std::int64_t>>(attributes.at("strides"));
  const auto& pads = std::get<std::vector<std::int64_t>>(attributes.at("pads"));
  const Shape &in = x.shape(), &kernel = w.shape(), &out = result.shape();
  const auto extent = [&](std::size_t axis) {
    return (in[axis] + pads[axis - 2] + pads[axis] - kernel[axis]) / strides[axis - 2] + 1;
  };
  if (out != Shape{in[0], kernel[0], extent(2), extent(3)})
    return Diagnostic{"wrong result", "a convolution", "its shape is " + to_string(out), ""};
  SplitMix64 random(1);
  for (int sample = 0; sample < kSamples; ++sample) {
    std::int64_t at = sample == 0 ? 0
                      : sample == 1
                          ? result.count() - 1
                          : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(result.count()));
    const std::int64_t index = at, column = at % out[3], row = (at /= out[3]) % out[2],
                       channel = (at /= out[2]) % out[1], image = at / out[1];
    Sum sum;
    sum.add(1, bias.as_double(channel));
    for (std::int64_t c = 0; c < in[1]; ++c)
      for (std::int64_t r = 0; r < kernel[2]; ++r)
        for (std::int64_t s = 0; s < kernel[3]; ++s) {
          const std::int64_t y = row * strides[0] + r - pads[0], z = column * strides[1] + s - pads[1];
          if (y < 0 || y >= in[2] || z < 0 || z >= in[3]) continue;
          sum.add(x.as_double(((image * in[1] + c) * in[2] + y) * in[3] + z),
                  w.as_double(((channel * in[1] + c) * kernel[2] + r) * kernel[3] + s));
        }
    const double expected = std::max(sum.value, 0.0), before_bias = std::abs(sum.value - bias.as_double(channel));
    const double more = how == Rounding::each_step ? rounding(result.dtype()) * before_bias : 0;
    if (const double got = result.as_double(index); !is_right(got, expected, sum, result.dtype(), tf32, more))
      return wrong(fmt::format("a convolution of {} with {}", to_string(in), to_string(kernel)),
                   fmt::format("element [{}, {}, {}, {}]", image, channel, row, column), got, expected);
  }
  return {};
}

}  // namespace dovetail::bench
