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

std::optional<Addition> addition(const Quantization& a, const Quantization& b, float y, bool subtract) {
  constexpr int kMostFractionBits = 16;
  for (int shift = kMostFractionBits; shift >= 0; --shift) {
    const auto multiplier = [&](const Quantization& q) {
      return static_cast<double>(
          static_cast<float>(static_cast<double>(q.scale) / static_cast<double>(y) * std::ldexp(1.0, shift)));
    };
    const Addition result{multiplier(a), subtract ? -multiplier(b) : multiplier(b), shift};
    if (!std::isnormal(static_cast<float>(result.a_multiplier)) ||
        !std::isnormal(static_cast<float>(result.b_multiplier)))
      return std::nullopt;
    // Each term rounds by half a step at most.
    const double reach = 255 * (std::abs(result.a_multiplier) + std::abs(result.b_multiplier)) + 2;
    if (reach < 0x1p31) return result;
  }
  return std::nullopt;
}

}  // namespace dovetail::passes::qdq
