#include "compiler/zoo/weights.h"

#include <cmath>

#include "base/hash.h"

namespace dovetail::zoo {

Random::Random(std::uint64_t seed, std::string_view name) : bits_(SplitMix64(seed ^ fnv1a(name)).next()) {}

double Random::normal() {
  // Mean 4 · 65535/2; variance 4 · (65536² − 1)/12, so that the deviation is 65536/√3 to ten digits.
  constexpr std::int64_t kMean = 2 * 65535;
  constexpr double kScale = 1.7320508075688772 / 65536;
  const std::uint64_t bits = next();
  const auto sum =
      static_cast<std::int64_t>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
  return static_cast<double>(sum - kMean) * kScale;
}

double Random::uniform(int least_thousandths, int greatest_thousandths) {
  const auto steps = static_cast<std::uint64_t>(greatest_thousandths - least_thousandths + 1);
  return static_cast<double>(least_thousandths + static_cast<std::int64_t>(next() % steps)) / 1000;
}

NdArray normal_array(Shape shape, double deviation, Random random) {
  NdArray array(DType::float32, std::move(shape));
  for (float& value : array.data<float>()) value = static_cast<float>(random.normal() * deviation);
  return array;
}

NdArray uniform_array(Shape shape, int least_thousandths, int greatest_thousandths, double factor, Random random) {
  NdArray array(DType::float32, std::move(shape));
  for (float& value : array.data<float>())
    value = static_cast<float>(random.uniform(least_thousandths, greatest_thousandths) * factor);
  return array;
}

}  // namespace dovetail::zoo
