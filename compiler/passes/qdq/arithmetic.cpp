#include "compiler/passes/qdq/arithmetic.h"

#include <algorithm>
#include <cmath>

namespace dovetail::passes::qdq {

int quantize(float real, const Quantization& q) {
  const float steps = std::nearbyint(real / q.scale);  // the default rounding mode is half to even
  return static_cast<int>(std::clamp(static_cast<double>(steps) + q.zero_point, -128.0, 127.0));
}

Range clamp_before(Range range, float low, float high, const Quantization& q) {
  const int min = std::isinf(low) && low < 0 ? -128 : quantize(low, q);
  const int max = std::isinf(high) && high > 0 ? 127 : quantize(high, q);
  // Clip is min(max(r, low), high): if low > high, the result is high.
  const auto clamp = [&](int step) { return std::min(std::max(step, min), max); };
  return {clamp(range.min), clamp(range.max)};
}

float requantization_scale(float x, float w, float y) {
  return static_cast<float>(static_cast<double>(x) * static_cast<double>(w) / static_cast<double>(y));
}

double bias_steps(double real, float x, float w) {
  return std::nearbyint(real / (static_cast<double>(x) * static_cast<double>(w)));
}

bool is_product_scale(float bias, float x, float w) {
  const double product = static_cast<double>(x) * static_cast<double>(w);
  return std::abs(static_cast<double>(bias) - product) <= product * 0x1p-22;
}

std::int64_t largest_centered(int zero_point) { return std::max(127 - zero_point, zero_point + 128); }

namespace {

// The sum a * p + b * q with integers p and q.
std::optional<Addition> whole_addition(double a, double b, double y, bool subtract) {
  constexpr double kMostError = 0x1p-12, kMostOperand = 255;  // steps
  for (int p = 1; p <= kMostFactor; ++p) {
    const double q = std::nearbyint(p * b / a), scale = static_cast<double>(static_cast<float>(a / y / p));
    if (q < 1 || q > kMostFactor) continue;
    if (!std::isnormal(static_cast<float>(scale))) return std::nullopt;
    if (kMostOperand * (std::abs(a / y - p * scale) + std::abs(b / y - q * scale)) <= kMostError)
      return Addition{static_cast<double>(p), subtract ? -q : q, scale};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Addition> rescaling(float x, float y) {
  const auto scale = static_cast<float>(static_cast<double>(x) / static_cast<double>(y));
  return std::isnormal(scale) ? std::optional(Addition{1, 1, static_cast<double>(scale)}) : std::nullopt;
}

std::optional<Addition> addition(const Quantization& a, const Quantization& b, float y, bool subtract) {
  if (const auto whole =
          whole_addition(static_cast<double>(a.scale), static_cast<double>(b.scale), static_cast<double>(y), subtract))
    return whole;
  constexpr int kMostFractionBits = 16;
  for (int shift = kMostFractionBits; shift >= 0; --shift) {
    const auto multiplier = [&](const Quantization& q) {
      return static_cast<double>(
          static_cast<float>(static_cast<double>(q.scale) / static_cast<double>(y) * std::ldexp(1.0, shift)));
    };
    const Addition result{multiplier(a), subtract ? -multiplier(b) : multiplier(b), std::ldexp(1.0, -shift)};
    if (!std::isnormal(static_cast<float>(result.a_multiplier)) ||
        !std::isnormal(static_cast<float>(result.b_multiplier)))
      return std::nullopt;
    // Each term rounds by half a step at most.
    const double reach = 255 * (std::abs(result.a_multiplier) + std::abs(result.b_multiplier)) + 2;
    if (reach < 0x1p31) return result;
  }
  return std::nullopt;
}

std::optional<Softmax> softmax(std::int64_t extent, float x, float y) {
  constexpr double kLargest = 65535, kSumLimit = 0x1p28;
  Softmax result{{}, 0, 0};
  for (int d = 0; d < 256; ++d)
    result.table.push_back(
        static_cast<std::uint16_t>(std::nearbyint(kLargest * std::exp(-static_cast<double>(x) * d))));
  // A scale of 1 needs no multiplication, and is as precise as larger scales.
  int exponent = 0;
  const bool is_power = std::frexp(y, &exponent) == 0.5f;
  const double sum = kLargest * static_cast<double>(std::max<std::int64_t>(extent, 1)), scale = static_cast<double>(y);
  result.shift = is_power && exponent <= 1 ? 1 - exponent : 62;
  while (result.shift > 0 && sum * std::ldexp(scale, result.shift) >= kSumLimit) --result.shift;
  result.scale = static_cast<double>(static_cast<float>(std::ldexp(scale, result.shift)));
  const bool fits = sum * result.scale < kSumLimit && kLargest * result.scale >= 1;
  return fits ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Normalization> normalization(std::int64_t extent, double epsilon, std::span<const double> gamma,
                                           std::span<const double> beta, float x, float y) {
  constexpr double kLimit = 0x1p31, kMargin = 1.01;  // roundings make values larger than these bounds by less than 1 %
  const double n = static_cast<double>(std::max<std::int64_t>(extent, 1)), step = static_cast<double>(x);
  const auto largest = [](std::span<const double> values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
  };
  const auto epsilon_of = [&](double parts) { return std::nearbyint(parts * n * epsilon / step / step); };
  const auto fits = [&](double parts) { return parts * n * 255 * 255 + epsilon_of(parts) < kLimit; };
  if (!fits(1)) return std::nullopt;
  double parts = 1;
  while (fits(2 * parts)) parts *= 2;

  Normalization result{static_cast<std::int64_t>(parts), static_cast<std::int64_t>(epsilon_of(parts)), 20, 16, {}, {}};
  // A normalized value is at most sqrt(n); z is 2^bits * sqrt(n / parts) times as large.
  while (result.bits > 0 && std::ldexp(kMargin * n / std::sqrt(parts), result.bits) >= kLimit) --result.bits;
  const double reach = (largest(gamma) * std::sqrt(n) + largest(beta)) / static_cast<double>(y);
  while (result.shift > 0 && std::ldexp(kMargin * reach, result.shift) + 2 >= kLimit) --result.shift;
  if (!(std::ldexp(kMargin * reach, result.shift) + 2 < kLimit)) return std::nullopt;
  const double unit = std::ldexp(std::sqrt(n / parts), result.bits);
  for (const double value : gamma)
    result.scale.push_back(static_cast<float>(std::ldexp(value / static_cast<double>(y), result.shift) / unit));
  for (const double value : beta)
    result.bias.push_back(
        static_cast<std::int32_t>(std::nearbyint(std::ldexp(value / static_cast<double>(y), result.shift))));
  return result;
}

}  // namespace dovetail::passes::qdq
