// The operators of the domain com.microsoft by their published definitions, as plain loops in binary64. Tests compare
// the graphs that import writes for these operators with them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/ndarray.h"
#include "tests/catch.h"

namespace dovetail::test::contrib {

// The elements of a tensor of any type, as doubles.
struct Reals {
  Shape shape;
  std::vector<double> values;

  Reals() = default;
  Reals(Shape of, double value = 0)  // NOLINT: implicit by design
      : shape(std::move(of)), values(static_cast<std::size_t>(element_count(shape)), value) {}
  explicit Reals(const NdArray& array) : Reals(array.shape()) {
    for (std::int64_t i = 0; i < array.count(); ++i) values[static_cast<std::size_t>(i)] = array.as_double(i);
  }
  double& operator[](std::int64_t i) { return values.at(static_cast<std::size_t>(i)); }
  double operator[](std::int64_t i) const { return values.at(static_cast<std::size_t>(i)); }
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
  std::int64_t columns() const { return shape.back(); }
  std::int64_t rows() const { return count() / columns(); }
  // Row-major offset of an element.
  std::int64_t place(const std::vector<std::int64_t>& position) const {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < position.size(); ++i) flat = flat * shape[i] + position[i];
    return flat;
  }
  double at(const std::vector<std::int64_t>& position) const { return (*this)[place(position)]; }
};

inline void check_close(const NdArray& actual, const Reals& expected, double tolerance) {
  REQUIRE(actual.shape() == expected.shape);
  double largest = 1, difference = 0;
  for (std::int64_t i = 0; i < actual.count(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    const double apart = std::abs(actual.as_double(i) - expected[i]);
    difference = std::max(difference, std::isnan(apart) ? HUGE_VAL : apart);
  }
  INFO("difference " << difference << " of " << largest);
  CHECK(difference <= tolerance * largest);
}

inline Reals map(const Reals& x, const std::function<double(double)>& f) {
  Reals y = x;
  for (double& value : y.values) value = f(value);
  return y;
}
// `b` is broadcast over the leading axes of `a`.
inline Reals added(const Reals& a, const Reals& b) {
  Reals y = a;
  for (std::int64_t i = 0; i < y.count(); ++i) y[i] += b[i % b.count()];
  return y;
}

inline double gelu(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }
inline double gelu_by_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}
inline double quick_gelu(double x, double alpha) { return x / (1 + std::exp(-alpha * x)); }

// Normalizes each row: subtracts its mean unless `centered` is false, and divides by its deviation. beta may be empty.
inline Reals normalized(const Reals& x, const Reals& gamma, const Reals& beta, double epsilon, bool centered) {
  Reals y = x;
  const std::int64_t n = x.columns();
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    double mean = 0, square = 0;
    for (std::int64_t c = 0; c < n; ++c) mean += centered ? x[r * n + c] / static_cast<double>(n) : 0;
    for (std::int64_t c = 0; c < n; ++c) square += std::pow(x[r * n + c] - mean, 2) / static_cast<double>(n);
    for (std::int64_t c = 0; c < n; ++c)
      y[r * n + c] =
          (x[r * n + c] - mean) / std::sqrt(square + epsilon) * gamma[c] + (beta.values.empty() ? 0 : beta[c]);
  }
  return y;
}

// Product of [.., k] and [k, n].
inline Reals product(const Reals& a, const Reals& b) {
  Shape shape = a.shape;
  shape.back() = b.columns();
  Reals y(shape);
  const std::int64_t k = a.columns(), n = b.columns();
  for (std::int64_t r = 0; r < a.rows(); ++r)
    for (std::int64_t c = 0; c < n; ++c)
      for (std::int64_t i = 0; i < k; ++i) y[r * n + c] += a[r * k + i] * b[i * n + c];
  return y;
}
inline Reals turned(const Reals& a) {  // transposes a matrix
  Reals y(Shape{a.shape[1], a.shape[0]});
  for (std::int64_t r = 0; r < a.shape[0]; ++r)
    for (std::int64_t c = 0; c < a.shape[1]; ++c) y[c * a.shape[0] + r] = a[r * a.shape[1] + c];
  return y;
}

// W [N, K] of MatMulNBits, as [K, N]. zero_points: packed bytes, one number per block, or none.
inline Reals unpacked_weight(const NdArray& b, const NdArray& scales, const NdArray* zero_points, std::int64_t k,
                             std::int64_t n, std::int64_t bits, std::int64_t block) {
  const std::int64_t blocks = (k + block - 1) / block;
  const auto bits_at = [&](const NdArray& bytes, std::int64_t first_byte, std::int64_t i) {
    const std::int64_t bit = i * bits;
    return bytes.as_int64(first_byte + bit / 8) / (std::int64_t{1} << (bit % 8)) % (std::int64_t{1} << bits);
  };
  Reals w(Shape{k, n});
  for (std::int64_t row = 0; row < n; ++row)
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t at = row * blocks + i / block;
      double zero = std::pow(2.0, static_cast<double>(bits - 1));
      if (zero_points != nullptr)
        zero = zero_points->dtype() == DType::uint8
                   ? static_cast<double>(bits_at(*zero_points, row * ((blocks * bits + 7) / 8), i / block))
                   : zero_points->as_double(at);
      w[i * n + row] =
          (static_cast<double>(bits_at(b, at * block * bits / 8, i % block)) - zero) * scales.as_double(at);
    }
  return w;
}

// Reorders [batch, positions, heads * size] to [batch, heads, positions, size], and back.
inline Reals heads_first(const Reals& x, std::int64_t heads) {
  const std::int64_t b = x.shape[0], s = x.shape[1], size = x.shape[2] / heads;
  Reals y(Shape{b, heads, s, size});
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t d = i % size, h = i / size % heads, p = i / (size * heads) % s, n = i / (size * heads * s);
    y[y.place({n, h, p, d})] = x[i];
  }
  return y;
}
inline Reals heads_last(const Reals& x) {
  const std::int64_t b = x.shape[0], heads = x.shape[1], s = x.shape[2], size = x.shape[3];
  Reals y(Shape{b, s, heads * size});
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const std::int64_t d = i % size, h = i / size % heads, p = i / (size * heads) % s, n = i / (size * heads * s);
    y[i] = x.at({n, h, p, d});
  }
  return y;
}
// Concatenates along axis 2.
inline Reals joined(const Reals& past, const Reals& x) {
  if (past.values.empty()) return x;
  Reals y(Shape{x.shape[0], x.shape[1], past.shape[2] + x.shape[2], x.shape[3]});
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t h = 0; h < y.shape[1]; ++h)
      for (std::int64_t t = 0; t < y.shape[2]; ++t)
        for (std::int64_t d = 0; d < y.shape[3]; ++d)
          y[y.place({n, h, t, d})] = t < past.shape[2] ? past.at({n, h, t, d}) : x.at({n, h, t - past.shape[2], d});
  return y;
}

// softmax(q k' * scale + bias(batch, head, query, key)) v for all heads; a head of k and v serves several heads of q.
using ScoreBias = std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
inline Reals attention(const Reals& q, const Reals& k, const Reals& v, double scale, const ScoreBias& bias,
                       double softcap = 0) {
  const std::int64_t share = q.shape[1] / k.shape[1], total = k.shape[2];
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q.shape[3]));
  Reals y(Shape{q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
  for (std::int64_t n = 0; n < q.shape[0]; ++n)
    for (std::int64_t h = 0; h < q.shape[1]; ++h)
      for (std::int64_t s = 0; s < q.shape[2]; ++s) {
        std::vector<double> weights;
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t t = 0; t < total; ++t) {
          double score = 0;
          for (std::int64_t d = 0; d < q.shape[3]; ++d) score += q.at({n, h, s, d}) * k.at({n, h / share, t, d});
          score *= scale;
          if (softcap != 0) score = softcap * std::tanh(score / softcap);
          weights.push_back(score + bias(n, h, s, t));
          largest = std::max(largest, weights.back());
        }
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (std::int64_t t = 0; t < total; ++t)
          for (std::int64_t d = 0; d < v.shape[3]; ++d)
            y[y.place({n, h, s, d})] += weights[static_cast<std::size_t>(t)] / sum * v.at({n, h / share, t, d});
      }
  return y;
}
inline double no_bias(std::int64_t, std::int64_t, std::int64_t, std::int64_t) { return 0; }

// Rotates pairs of the first 2 * columns elements of each head of [batch, heads, positions, size] by the angles of
// their position.
inline Reals rotated(const Reals& x, const Reals& cos, const Reals& sin,
                     const std::function<std::int64_t(std::int64_t, std::int64_t)>& position, bool interleaved) {
  Reals y = x;
  const std::int64_t half = cos.columns();
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t h = 0; h < x.shape[1]; ++h)
      for (std::int64_t p = 0; p < x.shape[2]; ++p)
        for (std::int64_t i = 0; i < half; ++i) {
          const std::int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + half;
          const double c = cos.at({position(n, p), i}), s = sin.at({position(n, p), i});
          y[y.place({n, h, p, first})] = x.at({n, h, p, first}) * c - x.at({n, h, p, second}) * s;
          y[y.place({n, h, p, second})] = x.at({n, h, p, first}) * s + x.at({n, h, p, second}) * c;
        }
  return y;
}

// Returns columns [from, to) of the last axis.
inline Reals columns(const Reals& x, std::int64_t from, std::int64_t to) {
  Shape shape = x.shape;
  shape.back() = to - from;
  Reals y(shape);
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t c = from; c < to; ++c) y[r * (to - from) + c - from] = x[r * x.columns() + c];
  return y;
}

}  // namespace dovetail::test::contrib
