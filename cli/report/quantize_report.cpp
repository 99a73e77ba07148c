#include "cli/report/quantize_report.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/html_page.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kShownTensors = 20, kShownWorst = 10;

constexpr std::string_view kQuantizedStyle =
    R"(:root { --ratio: #2563c9; --cut: #c07a1b; }
@media (prefers-color-scheme: dark) { :root { --ratio: #77a7f3; --cut: #e0a95e; } }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; margin: 16px 0; }
.scroll { overflow-x: auto; margin-top: 8px; } td.bar { min-width: 120px; } .track { background: var(--page); height: 10px; }
.ratio { background: var(--ratio); height: 10px; } td.cut { color: var(--cut); }
@media (max-width: 480px) { body { padding: 12px; } td, th { padding: 3px 5px; } })";

std::string decibels_text(std::optional<double> decibels) {
  return decibels ? fmt::format("{:.1f} dB", *decibels) : "-";
}
std::string percent_text(double share) { return fmt::format("{:.3f} %", 100 * share); }
std::string range_text(double least, double greatest) { return fmt::format("{:.4g} to {:.4g}", least, greatest); }
// JSON has no infinity: a tensor without noise has null.
double decibels(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

template <typename Row>
std::vector<const Row*> by_ratio(const std::vector<Row>& rows, double Row::*ratio) {
  std::vector<const Row*> sorted;
  for (const Row& row : rows) sorted.push_back(&row);
  std::ranges::stable_sort(sorted, {}, [&](const Row* row) { return row->*ratio; });
  return sorted;
}

std::string tensors_text(const quantize::Quantized& quantized) {
  std::vector<const quantize::TensorReport*> shown;
  const bool all = quantized.tensors.size() <= kShownTensors;
  if (all) {
    for (const quantize::TensorReport& tensor : quantized.tensors) shown.push_back(&tensor);
  } else {
    shown = by_ratio(quantized.tensors, &quantize::TensorReport::signal_to_noise_db);
    shown.resize(kShownWorst);
  }
  TextTable table({"tensor", ">range", ">scale", ">zero point", ">saturated", ">signal to noise"});
  for (const quantize::TensorReport* tensor : shown)
    table.add({tensor->value, range_text(tensor->least, tensor->greatest), fmt::format("{:.4g}", tensor->q.scale),
               fmt::format("{}", tensor->q.zero_point), percent_text(tensor->saturated),
               decibels_text(tensor->signal_to_noise_db)});
  return fmt::format("tensors       {}{}\n\n{}\n", quantized.tensors.size(),
                     all ? "" : fmt::format(", the {} that lost most (--report and --html have all)", shown.size()),
                     table.to_string());
}

std::string layers_text(const quantize::Quantized& quantized) {
  if (quantized.layers.empty()) return {};
  std::vector<const quantize::LayerReport*> shown = by_ratio(quantized.layers, &quantize::LayerReport::output_db);
  shown.resize(std::min(shown.size(), kShownWorst));
  TextTable table({"layer", "operator", ">weights", ">worst channel", ">outputs", ">same choice"});
  for (const quantize::LayerReport* layer : shown)
    table.add({layer->layer, layer->op.empty() ? "tensor" : layer->op, decibels_text(layer->weights_db),
               decibels_text(layer->channel_db), decibels_text(layer->output_db),
               fmt::format("{} of {}", layer->same_choice, quantized.layer_samples)});
  const std::size_t measured = quantized.layers.size();
  const std::string which =
      measured == quantized.all_layers
          ? fmt::format("{}", measured)
          : fmt::format("{} of {}, those that lose most (--worst-layers)", measured, quantized.all_layers);
  return fmt::format("layers        {}, each quantized alone on {} samples; those that lose most\n\n{}\n", which,
                     quantized.layer_samples, table.to_string());
}

std::string kept_text(const quantize::Quantized& quantized) {
  if (quantized.float_nodes.empty()) return {};
  std::map<std::string, int> operators;
  for (const auto& [name, op] : quantized.float_nodes) ++operators[op];
  std::string text;
  for (const auto& [op, count] : operators) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, op);
  text = fmt::format("stay float    {}\n", text);
  for (const quantize::LostPart& part : quantized.lost_parts)
    if (part.node_stays_float)
      text += fmt::format(
          "              {} among them, whose part {} ({:.4g} to {:.4g}) would have {:.1f} of the 255 steps of a "
          "common "
          "scale\n",
          part.node, part.operand, part.least, part.greatest, part.steps);
  return text;
}

std::string html_bar(double decibels) {
  constexpr double kFull = 60;
  return fmt::format(
      "<td class=\"bar\"><div class=\"track\"><div class=\"ratio\" style=\"width: {:.1f}%\"></div></div></td>",
      std::clamp(100 * decibels / kFull, 0.0, 100.0));
}

}  // namespace

std::string quantized_text(const quantize::Quantized& quantized) {
  std::string text;
  for (const quantize::OutputReport& output : quantized.outputs)
    text += fmt::format("output        {}: {}; {} of {} rows choose the same class as float\n", output.output,
                        decibels_text(output.signal_to_noise_db), output.same_rows, output.rows);
  if (!quantized.equalized.empty())
    text += fmt::format("equalized     {} pairs of layers\n", quantized.equalized.size());
  if (!quantized.corrected.empty()) text += fmt::format("corrected     {} biases\n", quantized.corrected.size());
  return text + kept_text(quantized) + tensors_text(quantized) + layers_text(quantized);
}

std::string quantized_page(const Json& report) {
  const std::string settings = report.contains("settings") ? escaped_member(report, "settings") + "; " : std::string();
  std::string body = fmt::format(
      "<p>{}{} samples</p>\n<section><h2>Outputs</h2><div class=\"scroll\"><table><tr><th>output</th>"
      "<th>signal to noise</th><th>rows that choose the same class as float</th></tr>\n",
      settings, report.at("rows").get<std::int64_t>());
  for (const Json& output : report.at("outputs"))
    body += fmt::format("<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{} of {}</td></tr>\n",
                        escaped_member(output, "output"), decibels_text(decibels(output.at("signal_to_noise_db"))),
                        output.at("same_rows").get<std::int64_t>(), output.at("rows").get<std::int64_t>());
  body += "</table></div></section>\n";
  std::vector<const Json*> layers;
  for (const Json& layer : report.at("layers")) layers.push_back(&layer);
  std::ranges::stable_sort(layers, {}, [](const Json* layer) { return decibels(layer->at("output_db")); });
  if (!layers.empty()) {
    body += fmt::format(
        "<section><h2>Layers</h2><p>Accuracy of the outputs when only this layer is quantized, on {} "
        "samples; the layer that loses most first.</p><div class=\"scroll\"><table><tr><th>layer</th><th>operator</th>"
        "<th>weights</th><th>worst channel</th><th>outputs</th><th></th><th>same choice</th></tr>\n",
        report.at("layer_samples").get<std::int64_t>());
    const auto known = [](const Json& value) {
      return value.is_null() ? std::optional<double>() : std::optional(value.get<double>());
    };
    for (const Json* layer : layers) {
      const std::string op = escaped_member(*layer, "op");
      body += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
          "class=\"number\">{}</td>{}<td class=\"number\">{}</td></tr>\n",
          escaped_member(*layer, "layer"), op.empty() ? "tensor" : op, decibels_text(known(layer->at("weights_db"))),
          decibels_text(known(layer->at("channel_db"))), decibels_text(decibels(layer->at("output_db"))),
          html_bar(decibels(layer->at("output_db"))), layer->at("same_choice").get<std::int64_t>());
    }
    body += "</table></div></section>\n";
  }
  body +=
      "<section><h2>Tensors</h2><p>In the order of execution; noise includes that of all layers before.</p>"
      "<div class=\"scroll\"><table><tr><th>tensor</th><th>range</th><th>scale</th><th>zero point</th>"
      "<th>saturated</th><th>most frequent value</th><th>signal to noise</th><th></th></tr>\n";
  for (const Json& tensor : report.at("tensors")) {
    const auto number = [&](const char* key) { return tensor.at(key).get<double>(); };
    const double ratio = decibels(tensor.at("signal_to_noise_db"));
    body += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{:.4g}</td><td "
        "class=\"number\">{}</td><td class=\"number{}\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td>{}</tr>\n",
        escaped_member(tensor, "value"), range_text(number("least"), number("greatest")), number("scale"),
        tensor.at("zero_point").get<std::int64_t>(), number("saturated") > 0 ? " cut" : "",
        percent_text(number("saturated")), percent_text(number("commonest")), decibels_text(ratio), html_bar(ratio));
  }
  body += "</table></div></section>\n";
  if (!report.at("float_nodes").empty()) {
    body +=
        "<section><h2>Nodes that stay float</h2><div class=\"scroll\"><table><tr><th>node</th><th>operator</th></tr>\n";
    for (const Json& node : report.at("float_nodes"))
      body +=
          fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped_member(node, "node"), escaped_member(node, "op"));
    body += "</table></div></section>\n";
  }
  return html_page("Quantized " + report.at("model").get<std::string>(), kQuantizedStyle, body);
}

}  // namespace dovetail::cli
