#include "compiler/quantize/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace dovetail::quantize {
namespace {

using passes::qdq::Quantization;

struct Row {
  std::string_view name;
  Method method;
};
constexpr std::array<Row, 5> kRows{{{"min-max", Method::min_max},
                                    {"percentile", Method::percentile},
                                    {"entropy", Method::entropy},
                                    {"kl", Method::entropy},
                                    {"mse", Method::mse}}};

constexpr int kCandidates = 64;  // ranges tried by entropy and mse: 1/64 to 64/64 of the observed magnitude

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
double square_error(const Observation& observed, const Quantization& q) {
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

// Counts in bins of equal width, as many on both sides of 0.
struct Histogram {
  std::vector<std::int64_t> counts;
  double width;

  double middle(std::size_t bin) const {
    return (static_cast<double>(bin) - static_cast<double>(counts.size()) / 2 + 0.5) * width;
  }
};

// The observed values in bins at least as wide as a step of the range that holds almost all of them, and wide enough
// that the nonempty bins hold eight values on average. With finer bins, the divergence would measure sampling noise and
// repeated values, which cost no accuracy, and one percent of all values would be clipped because of it. The bins at 0
// are emptied: zeros are exact, and would dominate after a ReLU.
Histogram without_chance(const Observation& observed) {
  constexpr double kEnough = 8;
  Histogram result{observed.bins(), observed.edge(1) - observed.edge(0)};
  result.counts[result.counts.size() / 2] = 0;
  const auto sparse = [&] {
    double values = 0, filled = 0;
    for (const std::int64_t count : result.counts) values += static_cast<double>(count), filled += count > 0 ? 1 : 0;
    return values < kEnough * filled;
  };
  const Limits bulk = percentile(observed, 1e-4);  // outliers do not widen the bins
  const double step = (bulk.high - bulk.low) / 256;
  while (result.counts.size() > 2 && (sparse() || result.width < step)) {
    const std::size_t half = result.counts.size() / 2;
    for (std::size_t i = 0; i < half; ++i) result.counts[i] = result.counts[2 * i] + result.counts[2 * i + 1];
    result.counts.resize(half);
    result.width *= 2;
  }
  return result;
}

// Divergence between the histogram, clipped to the range of `q`, and its quantization to 256 steps, minus the expected
// effect of chance: 1 / (2 values) for each bin beyond the first of a step (Miller, 1955).
double divergence(const Histogram& histogram, const Quantization& q) {
  const double scale = q.scale;
  const auto step_of = [&](std::size_t bin) {
    return static_cast<std::size_t>(
        std::clamp(std::nearbyint(histogram.middle(bin) / scale) + q.zero_point, -128.0, 127.0) + 128);
  };
  const std::vector<std::int64_t>& bins = histogram.counts;
  const double low = (-128.5 - q.zero_point) * scale, high = (127.5 - q.zero_point) * scale;
  std::size_t first = bins.size(), last = 0;
  for (std::size_t i = 0; i < bins.size(); ++i)
    if (histogram.middle(i) >= low && histogram.middle(i) <= high) first = std::min(first, i), last = i;
  if (first > last) return std::numeric_limits<double>::infinity();
  std::array<double, 256> mass{}, filled{};
  double total = 0, kept = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    const auto count = static_cast<double>(bins[i]);
    total += count;
    if (i >= first && i <= last) mass[step_of(i)] += count, filled[step_of(i)] += 1, kept += count;
  }
  if (kept == 0) return std::numeric_limits<double>::infinity();
  double sum = 0, by_chance = 0;
  constexpr double kLost = 1e-9;  // the share kept of a value beyond the range
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] == 0) continue;
    const double share = static_cast<double>(bins[i]) / total;
    const std::size_t step = step_of(i);
    const double in_step = i >= first && i <= last ? mass[step] / filled[step] / kept : kLost;
    sum += share * std::log(share / in_step);
  }
  for (const double each : filled) by_chance += std::max(each - 1, 0.0);
  return sum - by_chance / (2 * total);
}

// Magnitudes up to i / kCandidates of the largest, so that an outlier on one side does not affect the other side.
Limits candidate(const Observation& observed, int i) {
  const double most =
      std::max(std::abs(static_cast<double>(observed.least())), std::abs(static_cast<double>(observed.greatest()))) *
      i / kCandidates;
  return {std::max<double>(observed.least(), -most), std::min<double>(observed.greatest(), most)};
}

// The widest range whose cost is at most the least cost plus `significant`.
template <typename Cost>
Limits search(const Observation& observed, const Grid& grid, double significant, Cost cost) {
  std::array<double, kCandidates> costs{};
  for (int i = 1; i <= kCandidates; ++i) {
    const Limits limits = candidate(observed, i);
    costs[static_cast<std::size_t>(i - 1)] = cost(steps_of(limits.low, limits.high, grid));
  }
  const double enough = *std::ranges::min_element(costs) + significant;
  int widest = kCandidates;
  while (costs[static_cast<std::size_t>(widest - 1)] > enough) --widest;
  return candidate(observed, widest);
}

Limits least_divergence(const Observation& observed, const Grid& grid) {
  const Histogram histogram = without_chance(observed);
  double values = 0, filled = 0;
  for (const std::int64_t count : histogram.counts) values += static_cast<double>(count), filled += count > 0 ? 1 : 0;
  if (values == 0) return {observed.least(), observed.greatest()};
  // The standard deviation of the effect of chance: half that of a chi-square variable with that many degrees of
  // freedom.
  const double deviation = std::sqrt(2 * filled) / (2 * values);
  return search(observed, grid, deviation, [&](const Quantization& q) { return divergence(histogram, q); });
}

}  // namespace

Result<Method> parse_method(std::string_view text) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.name == text) return row.method;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
  }
  return Diagnostic{"unknown calibration method", std::string(text), "there is no method of this name",
                    "the methods are " + known};
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

Json Observation::to_json() const {
  Json filled = Json::array();
  for (std::size_t i = 0; i < bins_.size(); ++i)
    if (bins_[i] != 0) filled.push_back({i, bins_[i]});
  return {count_, least_, greatest_, width_, filled};
}

Observation Observation::from_json(const Json& json) {
  Observation read;
  read.count_ = json.at(0).get<std::int64_t>();
  read.least_ = json.at(1).get<float>(), read.greatest_ = json.at(2).get<float>();
  read.width_ = json.at(3).get<double>();
  read.bins_.assign(kBins, 0);
  for (const Json& bin : json.at(4)) read.bins_[bin.at(0).get<std::size_t>() % kBins] = bin.at(1).get<std::int64_t>();
  return read;
}

float next_power_of_two(float scale) {
  if (!std::isnormal(scale)) return 1;
  int exponent = 0;
  const float fraction = std::frexp(scale, &exponent);  // in [1/2, 1)
  return std::ldexp(1.0F, fraction == 0.5F ? exponent - 1 : exponent);
}

Quantization steps_of(double low, double high, const Grid& grid) {
  low = std::min(low, 0.0), high = std::max(high, 0.0);
  const bool middle = grid.zero_point == ZeroPoint::middle;
  auto scale = static_cast<float>(middle ? std::max(-low, high) / 127 : (high - low) / 255);
  if (!std::isnormal(scale)) scale = 1;
  if (grid.scales == Scales::power_of_two) scale = next_power_of_two(scale);
  if (middle) return {scale, 0};
  return {scale, static_cast<int>(std::clamp(std::nearbyint(-128 - low / static_cast<double>(scale)), -128.0, 127.0))};
}

Quantization choose(const Observation& observed, Method method, double tail, const Limits& bounds, const Grid& grid) {
  Limits limits{observed.least(), observed.greatest()};
  if (observed.count() > 0) {
    switch (method) {
      case Method::min_max: break;
      case Method::percentile: limits = percentile(observed, tail); break;
      case Method::entropy: limits = least_divergence(observed, grid); break;
      case Method::mse:
        limits = search(observed, grid, 0, [&](const Quantization& q) { return square_error(observed, q); });
        break;
    }
  }
  return steps_of(std::max(limits.low, bounds.low), std::min(limits.high, bounds.high), grid);
}

}  // namespace dovetail::quantize
