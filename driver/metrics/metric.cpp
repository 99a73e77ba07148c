#include "driver/metrics/metric.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "driver/metrics/kinds.h"
#include "driver/names.h"

namespace dovetail::driver {

namespace {

Diagnostic bad_metric(std::string_view text, std::string why, std::string hint) {
  return {"cannot read the metric", std::string(text), std::move(why), std::move(hint)};
}

template <typename T>
Result<T> option_value(const Metric& metric, const std::string& name, T otherwise, std::string_view kind) {
  const auto given = metric.options.find(name);
  if (given == metric.options.end()) return otherwise;
  T value{};
  const std::string& text = given->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return bad_metric(metric.name, fmt::format("{} is \"{}\", but must be {}", name, text, kind),
                      fmt::format("for example {}:{}={}", metric.name, name, otherwise));
  return value;
}

}  // namespace

const std::vector<MetricKind>& metric_kinds() {
  static const std::vector<MetricKind> kinds{
      {"accuracy",
       "share of samples whose largest score is that of the label, and among the five largest",
       {},
       measure_accuracy},
      {"iou",
       "masks: mean intersection over union of the classes, and share of right pixels",
       {{"ignore", "a label that does not count"}, {"threshold", "of one probability for each pixel (0.5)"}},
       measure_masks},
      {"error", "regression: mean, root mean square and largest error, and R2", {}, measure_errors},
      {"ctc",
       "sequences, decoded by the best class of each step: share of equal ones, and error rate of symbols",
       {{"blank", "the class that separates symbols (0)"}},
       measure_sequences},
      {"map",
       "boxes: mean average precision as COCO defines it",
       {{"boxes", "the output of boxes (default: the output has box, score and class)"},
        {"scores", "the output of the scores of each box"},
        {"form", "of a box: xyxy, xywh or cxcywh (xyxy)"},
        {"nms", "overlap above which boxes of a class are suppressed (1: none)"}},
       measure_boxes},
      {"program",
       "figures that a program prints as JSON, from arrays in a folder",
       {{"file", "the program, or FILE.py, which python3 runs"}},
       run_metric_program},
  };
  return kinds;
}

Result<Metric> parse_metric(std::string_view text) {
  const std::size_t colon = text.find(':');
  Metric metric{std::string(text.substr(0, colon)), {}};
  std::vector<std::string_view> names;
  const MetricKind* kind = nullptr;
  for (const MetricKind& row : metric_kinds()) {
    names.push_back(row.name);
    if (row.name == metric.name) kind = &row;
  }
  if (kind == nullptr)
    return bad_metric(text, fmt::format("there is no metric \"{}\"", metric.name),
                      fmt::format("the metrics are {}", fmt::join(names, ", ")));
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    std::vector<std::string_view> known;
    for (const auto& [name, meaning] : kind->options) known.push_back(name);
    if (equals == std::string_view::npos ||
        std::find(known.begin(), known.end(), item.substr(0, equals)) == known.end())
      return bad_metric(
          text, fmt::format("\"{}\" is not OPTION=VALUE of this metric", item),
          known.empty() ? "it has no options" : fmt::format("its options are {}", fmt::join(known, ", ")));
    metric.options[std::string(item.substr(0, equals))] = item.substr(equals + 1);
  }
  return metric;
}

Result<std::vector<Figure>> measure(const Metric& metric, const MetricInputs& inputs) {
  for (const MetricKind& row : metric_kinds())
    if (row.name == metric.name) return row.measure(metric, inputs);
  return bad_metric(metric.name, "there is no such metric", "use parse_metric()");
}

Result<const NdArray*> measured_output(const MetricInputs& inputs) {
  if (inputs.output) return output_named(inputs, *inputs.output);
  std::vector<std::string> names;
  for (const auto& [name, array] : inputs.outputs) names.push_back(name);
  if (names.size() != 1)
    return Diagnostic{"cannot compare with the labels", "--labels",
                      fmt::format("the model has {} outputs: {}", names.size(), fmt::join(names, ", ")),
                      "name the output that is measured with --output NAME"};
  return &inputs.outputs.begin()->second;
}

Result<const NdArray*> output_named(const MetricInputs& inputs, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [own, array] : inputs.outputs) names.push_back(own);
  DOVETAIL_ASSIGN(const std::string found, match_name("--output", "output", names, name));
  return &inputs.outputs.at(found);
}

Result<double> number_option(const Metric& metric, const std::string& name, double otherwise) {
  DOVETAIL_ASSIGN(const double value, option_value(metric, name, otherwise, "a number"));
  if (std::isnan(value)) return bad_metric(metric.name, fmt::format("{} is not a number", name), "give a number");
  return value;
}

Result<std::int64_t> integer_option(const Metric& metric, const std::string& name, std::int64_t otherwise) {
  return option_value(metric, name, otherwise, "an integer");
}

Diagnostic bad_labels(const Metric& metric, std::string why, std::string hint) {
  return {"cannot compare with the labels", "--labels, metric " + metric.name, std::move(why), std::move(hint)};
}

Figure share_figure(std::string key, std::string name, std::int64_t part, std::int64_t whole) {
  const double share = static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, whole));
  return {std::move(key),
          std::move(name),
          share,
          fmt::format("{} of {}, {:.2f} %", with_separators(static_cast<std::uint64_t>(part)),
                      with_separators(static_cast<std::uint64_t>(whole)), 100 * share),
          part,
          whole};
}

Figure number_figure(std::string key, std::string name, double value) {
  return {std::move(key), std::move(name), value, fmt::format("{:.6g}", value)};
}

}  // namespace dovetail::driver
