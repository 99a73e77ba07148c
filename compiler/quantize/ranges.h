// Calibration methods: from the observed values of a tensor to its scale and zero point.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "compiler/passes/qdq/arithmetic.h"

namespace dovetail::quantize {

// How a range is chosen.
enum class Method : std::uint8_t {
  min_max,     // all observed values: no saturation in calibration; one outlier costs all others resolution
  percentile,  // all but a share of the values at both ends: robust to outliers
  entropy,     // least Kullback-Leibler divergence between the values and their 256 steps (Migacz, GTC 2017):
               // for activations with long tails
  mse,         // least expected squared error: the best signal-to-noise ratio for each tensor
};
Result<Method> parse_method(std::string_view text);  // "min-max", "percentile", "entropy" or "kl", "mse"
std::string_view name(Method method);

// Extremes and histogram of a tensor's values over several samples. The histogram's range grows by doubling, so that
// samples can be added one by one.
class Observation {
 public:
  void add(const NdArray& values);  // floats; non-finite values are skipped

  std::int64_t count() const { return count_; }
  float least() const { return least_; }
  float greatest() const { return greatest_; }
  // Bin i holds values in [edge(i), edge(i + 1)); there are equally many bins on both sides of 0.
  const std::vector<std::int64_t>& bins() const { return bins_; }
  double edge(std::size_t bin) const { return (static_cast<double>(bin) - static_cast<double>(kBins) / 2) * width_; }

  Json to_json() const;                            // exact
  static Observation from_json(const Json& json);  // Json::exception: it is not what to_json returns

 private:
  static constexpr std::size_t kBins = 4096;
  void grow();

  std::int64_t count_ = 0;
  float least_ = 0, greatest_ = 0;
  double width_ = 0;  // 0: only zeros so far
  std::vector<std::int64_t> bins_;
};

struct Limits {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

// The steps that a tensor may have.
enum class ZeroPoint : std::uint8_t {
  anywhere,  // all of int8 for the range: one end at 0 costs nothing
  middle     // 0: steps are symmetric, ±127, for hardware without zero points
};
enum class Scales : std::uint8_t {
  any,
  power_of_two  // for hardware that can only shift: up to twice as coarse
};
struct Grid {
  ZeroPoint zero_point = ZeroPoint::anywhere;
  Scales scales = Scales::any;
};

// int8 steps that include 0. `tail`: the share ignored at each end by `percentile`. `bounds`: limits of the values for
// any sample. A tensor of zeros has scale 1.
passes::qdq::Quantization choose(const Observation& observed, Method method, double tail = 1e-5,
                                 const Limits& bounds = {}, const Grid& grid = {});

// Steps of [low, high] extended to include 0: scale = (high - low) / 255, zero point = round(-128 - low / scale); with
// the zero point in the middle, scale = max(-low, high) / 127. For power_of_two, the scale is rounded up.
passes::qdq::Quantization steps_of(double low, double high, const Grid& grid = {});

// The least power of two that is not smaller; 1 for a number that is not normal.
float next_power_of_two(float scale);

}  // namespace dovetail::quantize
