// How a comparison evaluates its numbers: spread, agreement, speedups.
#include "driver/comparison.h"

#include <cmath>
#include <limits>
#include <string>

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;

namespace {

std::map<std::string, NdArray> outputs(const std::vector<float>& values) {
  std::map<std::string, NdArray> arrays;
  arrays.emplace("y", NdArray::from<float>({static_cast<std::int64_t>(values.size())}, values));
  return arrays;
}

}  // namespace

TEST_CASE("comparison: median and percentiles of repeated runs") {
  const Spread odd = spread_of({5, 1, 3});
  CHECK(odd.median == 3);
  CHECK(odd.low == 1);
  CHECK(odd.high == 5);
  CHECK(odd.runs == 3);
  CHECK(spread_of({4, 1, 2, 3}).median == 2.5);
  std::vector<double> many;
  for (int i = 100; i >= 0; --i) many.push_back(i);
  CHECK(spread_of(many).low == 10);
  CHECK(spread_of(many).high == 90);
  CHECK(spread_of({7}).median == 7);
}

TEST_CASE("comparison: agreement counts and measures differences") {
  CHECK(agreement_of(outputs({1, 2, 3}), outputs({1, 2, 3})).equal());
  const Agreement some = agreement_of(outputs({1, 2, 3}), outputs({1, 2.5, 2.75}));
  CHECK(some.elements == 3);
  CHECK(some.different == 2);
  CHECK(some.largest == 0.5);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(agreement_of(outputs({nan}), outputs({nan})).equal());
  CHECK(std::isinf(agreement_of(outputs({nan}), outputs({1})).largest));
}

TEST_CASE("comparison: floats within the tolerance agree, and are not equal") {
  // 0.003 is a thousandth of the largest magnitude, 3.
  const auto expected = outputs({1, 2, 3}), close = outputs({1, 2.003f, 3});
  CHECK_FALSE(agreement_of(expected, close).agrees());
  CHECK_FALSE(agreement_of(expected, close, 0.9e-3).agrees());
  const Agreement within = agreement_of(expected, close, 1.1e-3);
  CHECK(within.agrees());
  CHECK_FALSE(within.equal());
  CHECK(within.different == 1);
}

TEST_CASE("comparison: rates count the samples of a batch, of all accelerators") {
  // 8 samples in 0.01 s; with 4 accelerators, 32 samples in 0.02 s.
  ComparedRow row{.target = "cpu", .machine = "a", .batch = 8, .seconds = 0.01};
  CHECK(row.per_second() == Approx(800));
  row.seconds = 0.02;
  row.accelerator = ComparedAccelerator{.count = 4};
  CHECK(row.per_second() == Approx(1600));
}

TEST_CASE("comparison: speedups are relative to the slowest target that runs") {
  ComparedModel model;
  for (const double seconds : {0.5e-3, 2e-3})
    model.rows.push_back({.target = "cpu", .machine = "-", .seconds = seconds});
  ComparedRow absent{.target = "cuda", .machine = "-"};
  absent.unavailable = "there is none";
  model.rows.push_back(absent);
  CHECK(speed_up(model, model.rows[0]) == Approx(4));
  CHECK(speed_up(model, model.rows[1]) == Approx(1));
}
