// Metrics of design points, and formulas of them: values, intervals that contain them, errors.
#include "explore/sweep/metrics.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.h"

namespace dovetail::explore {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

Formula formula(std::string_view text) {
  auto read = Formula::parse(text, "test");
  REQUIRE(read.ok());
  return *std::move(read);
}
std::string error_of(std::string_view text) {
  const auto read = Formula::parse(text, "space.json");
  return read.ok() ? "" : read.errors().front().why;
}

Metrics example() {
  Metrics metrics;
  metrics.latency_ms = 4;
  metrics.energy_mj = 3;
  metrics.area_mm2 = 2;
  metrics.inferences_per_second = 250;
  metrics.gates = 1000;
  return metrics;
}

}  // namespace

TEST_CASE("formulas: operators, precedence and names") {
  const Metrics metrics = example();
  CHECK(formula("latency_ms").value(metrics) == 4);
  CHECK(formula("latency_ms").metric() == find_metric("latency_ms"));
  CHECK(formula("energy_mj * latency_ms").value(metrics) == 12);
  CHECK(formula("energy_mj*latency_ms^2").value(metrics) == 48);
  CHECK(formula("2^3^2").value(metrics) == 512);
  CHECK(formula("1 - 2 - 3").value(metrics) == -4);
  CHECK(formula("12 / 2 / 3").value(metrics) == 2);
  CHECK(formula("-(1 + latency_ms) * 2").value(metrics) == -10);
  CHECK(formula("-2^2 * latency_ms").value(metrics) == -16);
  CHECK(formula("(latency_ms)").text() == "latency_ms");
  CHECK(formula("1e-3 * gates + .5").value(metrics) == 1.5);
  CHECK(formula("energy_mj * latency_ms").metric() == nullptr);
  CHECK(formula("energy_mj * latency_ms").uses("energy_mj"));
  CHECK_FALSE(formula("energy_mj * latency_ms").uses("area_mm2"));
}

TEST_CASE("formulas: errors name the place") {
  CHECK(error_of("latency") == "there is no metric named latency, at character 1 of \"latency\"");
  CHECK(Formula::parse("latency_mss", "s").errors().front().hint.find("latency_ms") != std::string::npos);
  CHECK(error_of("inf") == "there is no metric named inf, at character 1 of \"inf\"");
  CHECK(error_of("") == "a metric or a number is expected, at character 1 of \"\"");
  CHECK(error_of("1 +") == "a metric or a number is expected, at character 4 of \"1 +\"");
  CHECK(error_of("(1 + 2") == "a \")\" is missing, at character 7 of \"(1 + 2\"");
  CHECK(error_of("1 2") == "an operator is expected, at character 3 of \"1 2\"");
  CHECK(error_of("gates $") == "an operator is expected, at character 7 of \"gates $\"");
  CHECK(error_of(std::string(2000, '1')).starts_with("the formula has more than 1000 characters"));
  CHECK(error_of(std::string(900, '(')).starts_with("the formula is nested too deeply"));
}

TEST_CASE("formulas: the range of a point with these bounds contains the point's value") {
  const Metrics bounds = example();
  const auto range = [&](std::string_view text) { return formula(text).range(bounds); };
  CHECK(range("latency_ms").least == 4);
  CHECK(range("latency_ms").most == kInfinite);
  CHECK(range("area_mm2").most == 2);
  CHECK(range("energy_mj * latency_ms").least == 12);
  // At most 250 a second, on exactly 2 mm².
  CHECK(range("inferences_per_second / area_mm2").most == 125);
  CHECK(range("area_mm2 / inferences_per_second").least == 2.0 / 250);
  CHECK(range("area_mm2 - latency_ms").most == -2);
  std::mt19937 random(1);
  const auto at_least = [&](double bound) { return bound * (1 + std::exponential_distribution<>(1)(random)); };
  for (const char* text :
       {"energy_mj * latency_ms", "energy_mj * latency_ms ^ 2", "area_mm2 / latency_ms",
        "inferences_per_second / (area_mm2 + power_w)", "latency_ms - energy_mj / 2", "-latency_ms * area_mm2",
        "(latency_ms - 5) * energy_mj", "latency_ms ^ -1", "power_w / inferences_per_second", "1 / (latency_ms - 10)"})
    for (int draw = 0; draw < 200; ++draw) {
      Metrics point = bounds;
      point.latency_ms = at_least(4);
      point.energy_mj = at_least(3);
      point.power_w = at_least(0.1);
      point.inferences_per_second = 250 * std::uniform_real_distribution<>(0.01, 1)(random);
      const Interval interval = formula(text).range(bounds);
      const double value = formula(text).value(point);
      CAPTURE(text, value, interval.least, interval.most);
      CHECK((value >= interval.least && value <= interval.most));
    }
}

TEST_CASE("metrics: JSON and back") {
  Metrics metrics = example();
  metrics.accuracy = 0.5;
  const Metrics back = metrics_from_json(to_json(metrics));
  for (const MetricRow& row : metric_table()) CHECK(back.of(row.key) == metrics.of(row.key));
}

}  // namespace dovetail::explore
