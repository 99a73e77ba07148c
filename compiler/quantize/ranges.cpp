#include "compiler/quantize/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace dovetail::quantize {
namespace {

using passes::qdq::Quantisation;

struct Row {
  std::string_view name;
  Method method;
};
constexpr std::array<Row, 4> kRows{{{"min-max", Method::min_max},
                                    {"percentile", Method::percentile},
                                    {"entropy", Method::entropy},
                                    {"mse", Method::mse}}};

constexpr int kCandidates = 64;  // ranges that entropy and mse try: magnitudes up to 1/64 to 64/64 of what was observed

// More at ends other than 0: the plateau of a function (GELU's minimum), or probabilities that are all alike and carry
// the errors of the layers before, would lie at an end of int8 otherwise, and could not be distinguished from what is
// cut.
constexpr double kReserve = 1.0 / 8;

Limits with_reserve(const Limits& limits) {
  const double low = std::min(limits.low, 0.0), high = std::max(limits.high, 0.0), reserve = (high - low) * kReserve;
  return {low < 0 ? low - reserve : 0, high > 0 ? high + reserve : 0};
}

Limits percentile(const Observation& observed, double tail) {
  const auto skip = static_cast<std::int64_t>(std::floor(tail * static_cast<double>(observed.count())));
  const std::vector<std::int64_t>& bins = observed.bins();
  std::size_t first = 0, last = bins.size();
  for (std::int64_t seen = 0; first < bins.size() && seen + bins[first] <= skip; ++first) seen += bins[first];
  for (std::int64_t seen = 0; last > first + 1 && seen + bins[last - 1] <= skip; --last) seen += bins[last - 1];
  return {std::max<double>(observed.edge(first), observed.least()),
          std::min<double>(observed.edge(last), observed.greatest())};
}

// The expected square of the error of the steps `q`, bin by bin; the error within a step is uniform.
double square_error(const Observation& observed, const Quantisation& q) {
  const double scale = q.scale, low = (-128 - q.zero_point) * scale, high = (127 - q.zero_point) * scale,
               rounding = scale * scale / 12;
  double sum = 0;
  for (std::size_t i = 0; i < observed.bins().size(); ++i) {
    if (observed.bins()[i] == 0) continue;
    const double value = (observed.edge(i) + observed.edge(i + 1)) / 2, beyond = value < low    ? low - value
                                                                                 : value > high ? value - high
                                                                                                : 0;
    sum += static_cast<double>(observed.bins()[i]) * (beyond > 0 ? beyond * beyond : rounding);
  }
  return sum;
}

// Divergence of the histogram, clipped to the range of `q`, from what its 256 steps keep of it. The bin at 0 is left
// out: zeros are exact and would outweigh all else behind a ReLU.
double divergence(const Observation& observed, const Quantisation& q) {
  const double scale = q.scale;
  const auto step_of = [&](std::size_t bin) {
    const double value = (observed.edge(bin) + observed.edge(bin + 1)) / 2;
    return static_cast<int>(std::clamp(std::nearbyint(value / scale) + q.zero_point, -128.0, 127.0)) + 128;
  };
  const std::vector<std::int64_t>& bins = observed.bins();
  const std::size_t zero = bins.size() / 2;
  std::array<double, 256> mass{}, filled{};
  double total = 0;
  std::vector<double> reference(bins.size(), 0);
  const double low = (-128.5 - q.zero_point) * scale, high = (127.5 - q.zero_point) * scale;
  std::size_t first = bins.size(), last = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double value = (observed.edge(i) + observed.edge(i + 1)) / 2;
    if (value >= low && value <= high) first = std::min(first, i), last = std::max(last, i);
  }
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0 || i == zero) continue;
    // What lies beyond the range counts at its end: there the steps keep none of it.
    reference[std::clamp(i, first, last)] += static_cast<double>(bins[i]);
    total += static_cast<double>(bins[i]);
    if (i >= first && i <= last)
      mass[static_cast<std::size_t>(step_of(i))] += static_cast<double>(bins[i]),
          filled[static_cast<std::size_t>(step_of(i))] += 1;
  }
  double kept = 0;
  for (const double each : mass) kept += each;
  if (total == 0 || kept == 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  constexpr double kLeast = 1e-5;  // what a bin that the steps lose counts as
  for (std::size_t i = first; i <= last; ++i) {
    if (reference[i] == 0) continue;
    const auto step = static_cast<std::size_t>(step_of(i));
    const double p = reference[i] / total,
                 in_step = filled[step] > 0 && bins[i] > 0 ? mass[step] / filled[step] / kept : 0;
    sum += p * std::log(p / std::max(in_step, kLeast));
  }
  return sum;
}

template <typename Cost>
Limits search(const Observation& observed, Cost cost) {
  Limits best{observed.least(), observed.greatest()};
  double least = cost(observed, asymmetric(best.low, best.high));
  for (int i = kCandidates - 1; i >= 1; --i) {
    // Magnitudes are cut, so that an outlier on one side costs the other side nothing.
    const double most =
        std::max(std::abs(static_cast<double>(observed.least())), std::abs(static_cast<double>(observed.greatest()))) *
        i / kCandidates;
    const Limits limits{std::max<double>(observed.least(), -most), std::min<double>(observed.greatest(), most)};
    if (const double each = cost(observed, asymmetric(limits.low, limits.high)); each < least)
      least = each, best = limits;
  }
  return best;
}

}  // namespace

Result<Method> parse_method(std::string_view text) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.name == text) return row.method;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return Diagnostic{"unknown calibration method", std::string(text), "there is no method of that name",
                    "methods: " + known};
}

std::string_view name(Method method) {
  for (const Row& row : kRows)
    if (row.method == method) return row.name;
  return "";
}

void Observation::grow() {
  std::vector<std::int64_t> wider(kBins, 0);
  for (std::size_t i = 0; i < kBins; ++i) wider[kBins / 4 + i / 2] += bins_[i];
  bins_ = std::move(wider);
  width_ *= 2;
}

void Observation::add(const NdArray& values) {
  if (bins_.empty()) bins_.assign(kBins, 0);
  for (const float value : values.data<float>()) {
    if (!std::isfinite(value)) continue;
    ++count_;
    least_ = count_ == 1 ? value : std::min(least_, value);
    greatest_ = count_ == 1 ? value : std::max(greatest_, value);
    if (value != 0 && width_ == 0) width_ = 4 * std::abs(static_cast<double>(value)) / static_cast<double>(kBins);
    while (width_ > 0 && std::abs(static_cast<double>(value)) >= width_ * static_cast<double>(kBins) / 2) grow();
    const double at = width_ == 0 ? 0 : std::floor(static_cast<double>(value) / width_);
    ++bins_[static_cast<std::size_t>(static_cast<std::int64_t>(at) + static_cast<std::int64_t>(kBins) / 2)];
  }
}

Quantisation asymmetric(double low, double high) {
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  auto scale = static_cast<float>((high - low) / 255);
  if (!std::isnormal(scale)) scale = 1;
  return {scale, static_cast<int>(std::clamp(std::nearbyint(-128 - low / static_cast<double>(scale)), -128.0, 127.0))};
}

Quantisation choose(const Observation& observed, Method method, double tail, const Limits& bounds) {
  Limits limits{observed.least(), observed.greatest()};
  if (observed.count() > 0) {
    switch (method) {
      case Method::min_max: limits = with_reserve(limits); break;
      case Method::percentile: limits = percentile(observed, tail); break;
      case Method::entropy: limits = search(observed, divergence); break;
      case Method::mse: limits = search(observed, square_error); break;
    }
  }
  return asymmetric(std::max(limits.low, bounds.low), std::min(limits.high, bounds.high));
}

}  // namespace dovetail::quantize
