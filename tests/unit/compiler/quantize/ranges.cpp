// Calibration: from observed values to scales and zero points.
#include "compiler/quantize/ranges.h"

#include <cmath>

#include "compiler/zoo/weights.h"
#include "tests/catch.h"

namespace dovetail::quantize {
namespace {

using passes::qdq::Quantization;

NdArray reals(const std::vector<float>& values) {
  return NdArray::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

Observation normal(int count, const std::vector<float>& outliers = {}) {
  Observation observed;
  observed.add(zoo::normal_array({count}, 1, zoo::Random(5, "values")));
  observed.add(reals(outliers));
  return observed;
}

double greatest_real(const Quantization& q) { return (127 - q.zero_point) * static_cast<double>(q.scale); }

}  // namespace

TEST_CASE("ranges: 0 is represented exactly") {
  CHECK(steps_of(0, 25.5) == Quantization{0.1f, -128});
  CHECK(steps_of(-25.5, 0) == Quantization{0.1f, 127});
  CHECK(steps_of(-12.8, 12.7) == Quantization{0.1f, 0});
  CHECK(steps_of(3, 25.5) == Quantization{0.1f, -128});  // widened to 0
  CHECK(steps_of(0, 0) == Quantization{1.0f, -128});
}

TEST_CASE("ranges: min-max covers the observed values, to the step") {
  Observation observed;
  observed.add(reals({0, 32}));
  CHECK(choose(observed, Method::min_max) == steps_of(0, 32));
  observed.add(reals({-32}));
  CHECK(choose(observed, Method::min_max) == steps_of(-32, 32));
}

TEST_CASE("ranges: no range exceeds the bounds of its tensor") {
  Observation observed;
  observed.add(reals({0, 6}));
  const Quantization q = choose(observed, Method::min_max, 1e-4, {0, 6});
  CHECK(q.zero_point == -128);
  CHECK(q.scale == Approx(6.0 / 255));
  CHECK(choose(observed, Method::min_max, 1e-4, {-1, 100}).scale == Approx(6.0 / 255));
}

TEST_CASE("ranges: a histogram keeps every value as its range grows") {
  Observation observed;
  observed.add(reals({0, 0, 0}));
  CHECK(observed.greatest() == 0);
  observed.add(reals({1e-6f, -1}));
  observed.add(reals({1000, std::nanf(""), INFINITY}));
  CHECK(observed.count() == 6);
  CHECK(observed.least() == -1);
  CHECK(observed.greatest() == 1000);
  std::int64_t sum = 0, above = 0;
  for (std::size_t i = 0; i < observed.bins().size(); ++i) {
    sum += observed.bins()[i];
    if (observed.edge(i) <= 1000 && 1000 < observed.edge(i + 1)) above = observed.bins()[i];
  }
  CHECK(sum == 6);
  CHECK(above == 1);
}

TEST_CASE("ranges: percentile and mean-square methods cut outliers") {
  const Observation plain = normal(20000), outlier = normal(20000, {100});
  CHECK(greatest_real(choose(plain, Method::min_max)) == Approx(plain.greatest()).epsilon(0.3));
  CHECK(greatest_real(choose(outlier, Method::min_max)) == Approx(100).epsilon(0.15));
  // One value of 20001 is within the share left out.
  CHECK(greatest_real(choose(outlier, Method::percentile, 1e-3)) < 4);
  // An outlier of 100 costs 100^2 / 20001 = 0.5 in square when cut; keeping it costs (100 / 255)^2 / 12 = 0.013 for
  // all: it is kept. Among a hundred times as many values it is cut.
  CHECK(greatest_real(choose(outlier, Method::mse)) > 50);
  CHECK(greatest_real(choose(normal(2000000, {100}), Method::mse)) < 70);
  CHECK(greatest_real(choose(outlier, Method::entropy)) < 50);
  for (const Method method : {Method::min_max, Method::percentile, Method::entropy, Method::mse}) {
    const Quantization q = choose(plain, method);
    CHECK(q.scale > 0.005f);
    CHECK(q.scale < 0.035f);
    CHECK(choose(Observation(), method) == Quantization{1.0f, -128});
    CHECK(parse_method(name(method)).value() == method);
  }
  CHECK(parse_method("best").errors()[0].hint == "the methods are min-max, percentile, entropy, kl, mse");
}

}  // namespace dovetail::quantize
