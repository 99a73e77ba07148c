#include "cli/report/quantize_report.h"

#include <algorithm>
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
std::string range_text(const quantize::TensorReport& tensor) {
  return fmt::format("{:.4g} to {:.4g}", tensor.least, tensor.greatest);
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
    table.add({tensor->value, range_text(*tensor), fmt::format("{:.4g}", tensor->q.scale),
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

std::string quantized_page(const std::string& title, const std::string& settings,
                           const quantize::Quantized& quantized) {
  std::string body = fmt::format(
      "<p>{}</p>\n<section><h2>Outputs</h2><div class=\"scroll\"><table><tr><th>output</th>"
      "<th>signal to noise</th><th>rows that choose the same class as float</th></tr>\n",
      escaped_html(settings));
  for (const quantize::OutputReport& output : quantized.outputs)
    body += fmt::format("<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{} of {}</td></tr>\n",
                        escaped_html(output.output), decibels_text(output.signal_to_noise_db), output.same_rows,
                        output.rows);
  body += "</table></div></section>\n";
  if (!quantized.layers.empty()) {
    body += fmt::format(
        "<section><h2>Layers</h2><p>Accuracy of the outputs when only this layer is quantized, on {} "
        "samples; the layer that loses most first.</p><div class=\"scroll\"><table><tr><th>layer</th><th>operator</th>"
        "<th>weights</th><th>worst channel</th><th>outputs</th><th></th><th>same choice</th></tr>\n",
        quantized.layer_samples);
    for (const quantize::LayerReport* layer : by_ratio(quantized.layers, &quantize::LayerReport::output_db))
      body += fmt::format(
          "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
          "class=\"number\">{}</td>{}<td class=\"number\">{}</td></tr>\n",
          escaped_html(layer->layer), escaped_html(layer->op.empty() ? "tensor" : layer->op),
          decibels_text(layer->weights_db), decibels_text(layer->channel_db), decibels_text(layer->output_db),
          html_bar(layer->output_db), layer->same_choice);
    body += "</table></div></section>\n";
  }
  body +=
      "<section><h2>Tensors</h2><p>In the order of execution; noise includes that of all layers before.</p>"
      "<div class=\"scroll\"><table><tr><th>tensor</th><th>range</th><th>scale</th><th>zero point</th>"
      "<th>saturated</th><th>most frequent value</th><th>signal to noise</th><th></th></tr>\n";
  for (const quantize::TensorReport& tensor : quantized.tensors)
    body += fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{:.4g}</td><td "
        "class=\"number\">{}</td><td class=\"number{}\">{}</td><td class=\"number\">{}</td><td "
        "class=\"number\">{}</td>{}</tr>\n",
        escaped_html(tensor.value), range_text(tensor), tensor.q.scale, tensor.q.zero_point,
        tensor.saturated > 0 ? " cut" : "", percent_text(tensor.saturated), percent_text(tensor.commonest),
        decibels_text(tensor.signal_to_noise_db), html_bar(tensor.signal_to_noise_db));
  body += "</table></div></section>\n";
  if (!quantized.float_nodes.empty()) {
    body +=
        "<section><h2>Nodes that stay float</h2><div class=\"scroll\"><table><tr><th>node</th><th>operator</th></tr>\n";
    for (const auto& [name, op] : quantized.float_nodes)
      body += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped_html(name), escaped_html(op));
    body += "</table></div></section>\n";
  }
  return html_page("Quantized " + title, kQuantizedStyle, body);
}

}  // namespace dovetail::cli
