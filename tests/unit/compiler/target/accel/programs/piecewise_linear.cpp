// Which tables consist of two lines.
#include "compiler/target/accel/programs/piecewise_linear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "tests/catch.h"

namespace dovetail::accel {

namespace {

using Table = std::array<std::int8_t, 256>;

// A table of `function` of steps, rounded half to even, as lower_qdq makes tables.
Table table_of(const std::function<double(double)>& function) {
  Table table{};
  for (int i = 0; i < 256; ++i)
    table[static_cast<std::size_t>(i)] =
        static_cast<std::int8_t>(std::clamp(std::nearbyint(function(i - 128)), -128.0, 127.0));
  return table;
}

std::optional<PiecewiseLinear> fit(const Table& table, bool requant) { return fit_piecewise_linear(table, requant); }

}  // namespace

TEST_CASE("functions of two slopes are lines with either rounding") {
  for (const bool requant : {true, false}) {
    INFO((requant ? "half to even" : "half up"));
    const auto leaky =
        fit(table_of([](double x) { return x < 9 ? 0.103 * (x - 9) - 4 : 0.871 * (x - 9) - 4; }), requant);
    REQUIRE(leaky);
    CHECK(leaky->x_zero == 9);
    CHECK(leaky->y_zero == -4);
    CHECK(leaky->larger);
    CHECK(fit(table_of([](double x) { return std::fabs(x + 3) * 0.77; }), requant));
    CHECK(fit(table_of([](double x) { return -1.27 * x; }), requant));
    const auto concave = fit(table_of([](double x) { return x < 0 ? 1.87 * x : 0.31 * x; }), requant);
    REQUIRE(concave);
    CHECK_FALSE(concave->larger);
    // A step is a steep line between bounds.
    CHECK(fit(table_of([](double x) { return x < 0 ? -50 : 50; }), requant));
    // A single slope: the bend is at the least step.
    CHECK(fit(table_of([](double x) { return 0.43 * (x + 128) - 128; }), requant));
  }
}

TEST_CASE("curves, steps and single deviating entries are refused") {
  for (const bool requant : {true, false}) {
    CHECK_FALSE(fit(table_of([](double x) { return 127 * std::tanh(x / 40); }), requant));
    CHECK_FALSE(fit(table_of([](double x) { return x < -40 ? -50 : x < 40 ? 0 : 50; }), requant));
    Table table = table_of([](double x) { return 0.5003 * x; });
    table[17] = static_cast<std::int8_t>(table[17] + 1);
    CHECK_FALSE(fit(table, requant));
  }
}

TEST_CASE("tables of several channels must bend at one point") {
  const auto bent_at = [](double x0) { return table_of([=](double x) { return x < x0 ? 0.2 * (x - x0) : x - x0; }); };
  const Table a = bent_at(0), b = table_of([](double x) { return x < 0 ? 0.6 * x : x; }), c = bent_at(5);
  const auto both = [](const Table& first, const Table& second) {
    std::vector<std::int8_t> tables(first.begin(), first.end());
    tables.insert(tables.end(), second.begin(), second.end());
    return fit_piecewise_linear(tables, true);
  };
  REQUIRE(both(a, b));
  CHECK(both(a, b)->slopes.size() == 2);
  CHECK_FALSE(both(a, c));
}

}  // namespace dovetail::accel
