// The numbers of a design point, by name: what sweeps minimize, maximize and bound, alone or in formulas.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "explore/area/fpga_model.h"

namespace dovetail::explore {

struct Metrics {
  // Weighted means over the models. With several accelerators, the latency is for a batch with one sample each, the
  // energy for one inference; area, power, SRAM and gates are for all accelerators.
  double latency_ms = 0, energy_mj = 0, area_mm2 = 0;
  double power_w = 0;     // while the models run
  double sram_bytes = 0;  // of all memories of the area model: OUT, a table's copies, queues and beat buffers too
  double gates = 0, levels = 0;
  double design_clock_mhz = 0;  // that the levels of logic of the area model allow; the point's clock may be beyond it
  std::array<FpgaEstimate, kFpgaFamilies.size()> fpga = {};  // in the order of kFpgaFamilies; of all accelerators
  double inferences_per_second = 0;
  // Of the multiplications and additions of the models: 10^12 a second, the same for a watt, and the share of the peak.
  double tops = 0, tops_per_w = 0, utilization = 0;
  std::optional<double> accuracy = {};  // 0 to 1; empty: the space has no numeric choices

  // Precondition: the key is in metric_table(). 0 for an accuracy that is not known.
  double of(std::string_view key) const;
};

// What the bound of a point (Evaluator::lower_bound) says of a metric.
enum class Bound : std::uint8_t { exact, least, most, unknown };
struct MetricRow {
  std::string_view key;    // name in files: "latency_ms"
  std::string_view title;  // name in reports: "latency, ms"
  bool larger;             // whether larger is better
  Bound bound;
};
std::span<const MetricRow> metric_table();
const MetricRow* find_metric(std::string_view key);
std::vector<std::string_view> metric_keys();

Json to_json(const Metrics& metrics);
Metrics metrics_from_json(const Json& json);

// A closed interval; its ends may be infinite.
struct Interval {
  double least = 0, most = 0;
};

// A formula of metrics and numbers with + - * / ^ and parentheses, such as "energy_mj * latency_ms".
class Formula {
 public:
  // Error: `where` and the position of what cannot be read.
  static Result<Formula> parse(std::string_view text, std::string_view where);

  const std::string& text() const { return text_; }
  // The metric that the formula is; null: it is more than a name.
  const MetricRow* metric() const;
  bool uses(std::string_view key) const;

  double value(const Metrics& metrics) const;
  // The values that a point may have whose bounds are these.
  Interval range(const Metrics& bounds) const;

 private:
  struct Step {     // of the formula in postfix order
    char kind = 0;  // 'n' number, 'm' metric, or the operator
    double number = 0;
    const MetricRow* metric = nullptr;
  };
  friend class FormulaReader;
  template <typename Value, typename Leaf>
  Value evaluate(const Leaf& leaf) const;

  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace dovetail::explore
