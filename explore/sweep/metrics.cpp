#include "explore/sweep/metrics.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "isa/nearest.h"

namespace dovetail::explore {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::string_view kAccuracy = "accuracy";  // the only metric that not every point has

using Place = double& (*)(Metrics&);
struct PlacedMetric {
  MetricRow row;
  Place place;
};

#define DOVETAIL_METRIC(member) [](Metrics& m) -> double& { return m.member; }
#define DOVETAIL_FPGA_METRICS(flow, family, index)                                                                  \
  {{flow ".lut", "LUT, " family, false, Bound::exact}, DOVETAIL_METRIC(fpga[index].lut)},                           \
      {{flow ".ff", "flip-flops, " family, false, Bound::exact}, DOVETAIL_METRIC(fpga[index].flip_flops)},          \
      {{flow ".dsp", "DSP, " family, false, Bound::exact}, DOVETAIL_METRIC(fpga[index].dsp)},                       \
      {{flow ".bram", "block RAMs of 36 Kbit, " family, false, Bound::exact}, DOVETAIL_METRIC(fpga[index].bram)}, { \
    {flow ".levels", "levels of logic, " family, false, Bound::exact}, DOVETAIL_METRIC(fpga[index].logic_levels)    \
  }
// clang-format off
static_assert(kFpgaFamilies[0].flow == "xc7" && kFpgaFamilies[1].flow == "xcup" && kFpgaFamilies.size() == 2);
const auto kMetrics = std::to_array<PlacedMetric>({
    {{"latency_ms", "latency, ms", false, Bound::least}, DOVETAIL_METRIC(latency_ms)},
    {{"energy_mj", "energy, mJ", false, Bound::least}, DOVETAIL_METRIC(energy_mj)},
    {{"area_mm2", "area, mm²", false, Bound::exact}, DOVETAIL_METRIC(area_mm2)},
    {{"power_w", "power, W", false, Bound::unknown}, DOVETAIL_METRIC(power_w)},
    {{"sram_bytes", "SRAM, bytes", false, Bound::exact}, DOVETAIL_METRIC(sram_bytes)},
    {{"gates", "gates", false, Bound::exact}, DOVETAIL_METRIC(gates)},
    {{"levels", "levels of logic", false, Bound::exact}, DOVETAIL_METRIC(levels)},
    {{"design_clock_mhz", "clock of the design, MHz", true, Bound::exact}, DOVETAIL_METRIC(design_clock_mhz)},
    DOVETAIL_FPGA_METRICS("xc7", "7 series", 0),
    DOVETAIL_FPGA_METRICS("xcup", "UltraScale+", 1),
    {{"inferences_per_second", "inferences a second", true, Bound::most}, DOVETAIL_METRIC(inferences_per_second)},
    {{"tops", "10^12 operations a second", true, Bound::most}, DOVETAIL_METRIC(tops)},
    {{"tops_per_w", "10^12 operations a joule", true, Bound::most}, DOVETAIL_METRIC(tops_per_w)},
    {{"utilization", "share of the peak", true, Bound::most}, DOVETAIL_METRIC(utilization)},
});
// clang-format on
#undef DOVETAIL_FPGA_METRICS
#undef DOVETAIL_METRIC
constexpr MetricRow kAccuracyRow{kAccuracy, "accuracy", true, Bound::exact};

const std::vector<MetricRow>& rows() {
  static const std::vector<MetricRow> all = [] {
    std::vector<MetricRow> rows;
    for (const PlacedMetric& metric : kMetrics) rows.push_back(metric.row);
    rows.push_back(kAccuracyRow);
    return rows;
  }();
  return all;
}

}  // namespace

double Metrics::of(std::string_view key) const {
  if (key == kAccuracy) return accuracy.value_or(0);
  const auto metric = std::ranges::find(kMetrics, key, [](const PlacedMetric& each) { return each.row.key; });
  DOVETAIL_CHECK(metric != kMetrics.end(), std::string(key));
  Metrics copy = *this;
  return metric->place(copy);
}

std::span<const MetricRow> metric_table() { return rows(); }

const MetricRow* find_metric(std::string_view key) {
  const auto row = std::ranges::find(rows(), key, &MetricRow::key);
  return row == rows().end() ? nullptr : &*row;
}

std::vector<std::string_view> metric_keys() {
  std::vector<std::string_view> keys;
  for (const MetricRow& row : rows()) keys.push_back(row.key);
  return keys;
}

Json to_json(const Metrics& metrics) {
  Json json = Json::object();
  Metrics copy = metrics;
  for (const PlacedMetric& metric : kMetrics) json[std::string(metric.row.key)] = metric.place(copy);
  if (metrics.accuracy) json[std::string(kAccuracy)] = *metrics.accuracy;
  return json;
}

Metrics metrics_from_json(const Json& json) {
  Metrics metrics;
  for (const PlacedMetric& metric : kMetrics)
    metric.place(metrics) = json.at(std::string(metric.row.key)).get<double>();
  if (const auto accuracy = json.find(kAccuracy); accuracy != json.end()) metrics.accuracy = accuracy->get<double>();
  return metrics;
}

// sum: product (("+" | "-") product)*; product: power (("*" | "/") power)*; power: factor ("^" power)?; factor: number,
// metric, "-" power, or "(" sum ")".
class FormulaReader {
 public:
  FormulaReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  Result<Formula> read() {
    if (text_.size() > kMostCharacters) {
      const std::string why = fmt::format("the formula has more than {} characters", kMostCharacters);
      text_ = text_.substr(0, 20);
      return error(why);
    }
    formula_.text_ = std::string(text_);
    DOVETAIL_TRY(sum());
    skip();
    if (at_ < text_.size()) return error("an operator is expected");
    if (const MetricRow* const metric = formula_.metric(); metric != nullptr) formula_.text_ = metric->key;
    return std::move(formula_);
  }

 private:
  static constexpr std::size_t kMostDepth = 100, kMostCharacters = 1000;

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void push(char kind) { formula_.steps_.push_back({.kind = kind}); }
  Diagnostic error(std::string why, std::string hint = R"(write a formula such as "energy_mj * latency_ms")") const {
    return {"cannot read the formula", std::string(where_),
            fmt::format("{}, at character {} of \"{}\"", why, at_ + 1, text_), std::move(hint)};
  }

  Result<void> sum() {
    DOVETAIL_TRY(product());
    for (;;) {
      const char kind = take('+') ? '+' : take('-') ? '-' : '\0';
      if (kind == '\0') return {};
      DOVETAIL_TRY(product());
      push(kind);
    }
  }
  Result<void> product() {
    DOVETAIL_TRY(power());
    for (;;) {
      const char kind = take('*') ? '*' : take('/') ? '/' : '\0';
      if (kind == '\0') return {};
      DOVETAIL_TRY(power());
      push(kind);
    }
  }
  Result<void> power() {
    DOVETAIL_TRY(factor());
    if (!take('^')) return {};
    DOVETAIL_TRY(power());
    push('^');
    return {};
  }
  Result<void> factor() {
    skip();
    if (depth_ > kMostDepth) return error("the formula is nested too deeply");
    ++depth_;
    DOVETAIL_TRY(leaf());
    --depth_;
    return {};
  }
  Result<void> leaf() {
    if (take('(')) {
      DOVETAIL_TRY(sum());
      if (!take(')')) return error("a \")\" is missing");
      return {};
    }
    if (take('-')) {
      push('n');
      DOVETAIL_TRY(power());
      push('-');
      return {};
    }
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    double number = 0;
    const bool digits = begin != end && (std::isdigit(static_cast<unsigned char>(*begin)) != 0 || *begin == '.');
    if (const auto [after, problem] = std::from_chars(begin, end, number); digits && problem == std::errc{}) {
      at_ += static_cast<std::size_t>(after - begin);
      formula_.steps_.push_back({.kind = 'n', .number = number});
      return {};
    }
    std::size_t length = 0;
    const auto of_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    while (at_ + length < text_.size() && of_name(text_[at_ + length])) ++length;
    if (length == 0) return error("a metric or a number is expected");
    const std::string name(text_.substr(at_, length));
    const MetricRow* const metric = find_metric(name);
    if (metric == nullptr)
      return error(fmt::format("there is no metric named {}", name), isa::suggestion(name, metric_keys()));
    at_ += length;
    formula_.steps_.push_back({.kind = 'm', .metric = metric});
    return {};
  }

  std::string_view text_, where_;
  std::size_t at_ = 0, depth_ = 0;
  Formula formula_;
};

Result<Formula> Formula::parse(std::string_view text, std::string_view where) {
  return FormulaReader(text, where).read();
}

const MetricRow* Formula::metric() const { return steps_.size() == 1 ? steps_.front().metric : nullptr; }

bool Formula::uses(std::string_view key) const {
  return std::ranges::any_of(steps_,
                             [&](const Step& step) { return step.metric != nullptr && step.metric->key == key; });
}

namespace {

double apply(char kind, double a, double b) {
  switch (kind) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    default: return std::pow(a, b);
  }
}

constexpr Interval kAnything{-kInfinite, kInfinite};

// The hull of the four combinations of ends, which is exact where the operation is monotone in each operand.
Interval hull(char kind, const Interval& a, const Interval& b) {
  Interval result{kInfinite, -kInfinite};
  for (const double x : {a.least, a.most})
    for (const double y : {b.least, b.most}) {
      double value = apply(kind, x, y);
      if (std::isnan(value)) {
        if (kind != '*') return kAnything;
        value = 0;  // 0 times an infinite end: any finite value gives 0
      }
      result = {std::min(result.least, value), std::max(result.most, value)};
    }
  return result;
}

Interval apply(char kind, const Interval& a, const Interval& b) {
  switch (kind) {
    case '+': return {a.least + b.least, a.most + b.most};
    case '-': return {a.least - b.most, a.most - b.least};
    case '/':
      // A divisor that may be 0 gives no bound but that of its sign.
      if (b.least > 0 || b.most < 0) return hull(kind, a, b);
      return a.least >= 0 && b.least >= 0 ? Interval{b.most > 0 ? a.least / b.most : 0, kInfinite} : kAnything;
    case '^': return a.least > 0 ? hull(kind, a, b) : kAnything;
    default: return hull(kind, a, b);
  }
}

}  // namespace

template <typename Value, typename Leaf>
Value Formula::evaluate(const Leaf& leaf) const {
  std::vector<Value> stack;
  for (const Step& step : steps_) {
    if (step.kind == 'n' || step.kind == 'm') {
      stack.push_back(leaf(step));
      continue;
    }
    const Value right = stack.back();
    stack.pop_back();
    stack.back() = apply(step.kind, stack.back(), right);
  }
  return stack.back();
}

double Formula::value(const Metrics& metrics) const {
  return evaluate<double>([&](const Step& step) { return step.metric ? metrics.of(step.metric->key) : step.number; });
}

Interval Formula::range(const Metrics& bounds) const {
  return evaluate<Interval>([&](const Step& step) {
    if (step.metric == nullptr) return Interval{step.number, step.number};
    const double bound = bounds.of(step.metric->key);
    switch (step.metric->bound) {
      case Bound::exact: return Interval{bound, bound};
      case Bound::least: return Interval{bound, kInfinite};
      case Bound::most: return Interval{0, bound};
      default: return Interval{0, kInfinite};
    }
  });
}

}  // namespace dovetail::explore
