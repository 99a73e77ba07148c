#include "compiler/target/accel/programs/piecewise_linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "isa/semantics/requant.h"

namespace dovetail::accel {

namespace {

constexpr std::int64_t kSteps = 256, kLowest = -128;
constexpr double kOne = 1 << kSlopeBits;
// The magnitude of a centered number is at most 255, and a half is added.
constexpr std::int32_t kSteepest = (INT32_MAX - (1 << kSlopeBits)) / 255;

using Slopes = PiecewiseLinear::Slopes;

std::int32_t rounded(std::int32_t x, std::int32_t slope, bool requant) {
  if (requant) {
    const float scale = static_cast<float>(slope) / static_cast<float>(kOne);  // exact below 2^24
    return isa::semantics::requant(x, 0, std::bit_cast<std::uint32_t>(scale), 0);
  }
  return (x * slope + (1 << (kSlopeBits - 1))) >> kSlopeBits;
}

std::int32_t value(const PiecewiseLinear& lines, const Slopes& slopes, std::int32_t x, bool requant) {
  const std::int32_t centered = x - lines.x_zero, left = rounded(centered, slopes.left, requant),
                     right = rounded(centered, slopes.right, requant);
  const std::int32_t chosen = lines.larger ? std::max(left, right) : std::min(left, right);
  return std::clamp(chosen + lines.y_zero, lines.y_min, lines.y_max);
}

// The slopes that give the values on one side of the common point. A value at a bound limits the slope on one side
// only.
struct Interval {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();

  void add(double distance, double low, double high) {
    double a = low / distance, b = high / distance;
    if (distance < 0) std::swap(a, b);
    least = std::max(least, a), most = std::min(most, b);
  }
  bool empty() const { return least > most; }
  std::optional<std::int32_t> slope(std::optional<std::int32_t> otherwise) const {
    const bool from = std::isfinite(least), to = std::isfinite(most);
    if (!from && !to) return otherwise;
    const double slope = from && to ? (least + most) / 2 : from ? least + 1 / kOne : most - 1 / kOne;
    const double steps = std::nearbyint(slope * kOne);
    if (std::fabs(steps) > kSteepest) return std::nullopt;
    return static_cast<std::int32_t>(steps);
  }
};

std::optional<Slopes> slopes_of(std::span<const std::int8_t> table, const PiecewiseLinear& lines) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Interval left, right;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const auto distance = static_cast<double>(i + kLowest - lines.x_zero);
    if (distance == 0) continue;
    const std::int32_t y = table[static_cast<std::size_t>(i)], above = y - lines.y_zero;
    Interval& side = distance < 0 ? left : right;
    side.add(distance, y > lines.y_min ? above - 0.5 : -kInfinity, y < lines.y_max ? above + 0.5 : kInfinity);
    if (side.empty()) return std::nullopt;
  }
  const auto from_left = left.slope(std::nullopt), from_right = right.slope(from_left);
  if (!from_right) return std::nullopt;
  const auto first = left.slope(from_right);
  if (!first) return std::nullopt;
  return Slopes{*first, *from_right};
}

bool gives(const PiecewiseLinear& lines, const Slopes& slopes, std::span<const std::int8_t> table, bool requant) {
  for (std::int64_t i = 0; i < kSteps; ++i)
    if (value(lines, slopes, static_cast<std::int32_t>(i + kLowest), requant) != table[static_cast<std::size_t>(i)])
      return false;
  return true;
}

// Fits all tables with lines through this point.
bool fit(PiecewiseLinear& lines, std::span<const std::int8_t> tables, bool requant) {
  lines.slopes.clear();
  for (std::size_t first = 0; first < tables.size(); first += kSteps) {
    const auto table = tables.subspan(first, kSteps);
    if (table[static_cast<std::size_t>(lines.x_zero - kLowest)] != lines.y_zero) return false;
    const auto slopes = slopes_of(table, lines);
    if (!slopes) return false;
    lines.slopes.push_back(*slopes);
  }
  for (const bool larger : {true, false}) {
    lines.larger = larger;
    bool all = true;
    for (std::size_t i = 0; i < lines.slopes.size() && all; ++i)
      all = gives(lines, lines.slopes[i], tables.subspan(i * kSteps, kSteps), requant);
    if (all) return true;
  }
  return false;
}

}  // namespace

std::optional<PiecewiseLinear> fit_piecewise_linear(std::span<const std::int8_t> tables, bool requant) {
  PiecewiseLinear lines;
  const auto [low, high] = std::ranges::minmax(tables);
  lines.y_min = low;
  lines.y_max = high;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    lines.x_zero = static_cast<std::int32_t>(i + kLowest);
    lines.y_zero = tables[static_cast<std::size_t>(i)];
    if (fit(lines, tables, requant)) return lines;
  }
  return std::nullopt;
}

}  // namespace dovetail::accel
