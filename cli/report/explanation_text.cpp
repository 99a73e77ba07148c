#include "cli/report/explanation_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/energy_text.h"
#include "cli/report/html_page.h"
#include "cli/report/latency_text.h"
#include "driver/explanation.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

double number(const Json& object, std::string_view key) { return object.value(std::string(key), 0.0); }
std::uint64_t count(const Json& object, const char* key) { return object.at(key).get<std::uint64_t>(); }

// "+1,234", "-7", "0"
std::string signed_count(std::int64_t value) {
  const std::string digits = with_separators(static_cast<std::uint64_t>(std::abs(value)));
  return value == 0 ? digits : (value > 0 ? "+" : "-") + digits;
}
std::string signed_us(double ms) { return fmt::format("{:+.4g}", ms * 1e3); }

std::string share_of(double part, double whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100 * part / whole);
}

std::string joules_or_dash(const Json& joules) { return joules.is_null() ? "-" : joules_text(joules.get<double>()); }
std::string signed_joules(const Json& joules) {
  if (joules.is_null()) return "-";
  const double value = joules.get<double>();
  return (value < 0 ? "-" : "+") + joules_text(std::abs(value));
}

// "B takes 0.65 of the time of A: 1.54 times as fast"
std::string verdict(const Json& explanation) {
  const double a = number(explanation.at("a"), "ms"), b = number(explanation.at("b"), "ms");
  if (a <= 0 || b <= 0) return "nothing ran";
  if (a == b) return "both take the same time";
  return a > b ? fmt::format("B is {:.3g} times as fast as A", a / b)
               : fmt::format("A is {:.3g} times as fast as B", b / a);
}

std::string run_text(const Json& run) {
  std::string text = run.at("name").get<std::string>();
  if (!run.at("clock_mhz").is_null())
    text +=
        fmt::format(", {:.6g} MHz, memory {}", run.at("clock_mhz").get<double>(), run.at("memory").get<std::string>());
  return text;
}

// The largest causes of a difference, "alu -1.2, load token -0.3"
std::string main_causes(const Json& by_cause) {
  std::vector<std::pair<double, std::string>> causes;
  for (const auto& [cause, ms] : by_cause.items()) causes.emplace_back(-std::abs(ms.get<double>()), cause);
  std::ranges::sort(causes);
  constexpr std::size_t kMost = 2;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, causes.size()); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", causes[i].second,
                        signed_us(by_cause.at(causes[i].second).get<double>()));
  return text.empty() ? "-" : text;
}

struct Quantity {
  std::string name, a, b, difference;
};
std::vector<Quantity> quantities(const Json& explanation) {
  const Json &a = explanation.at("a"), &b = explanation.at("b"), &difference = explanation.at("difference");
  const auto ms = [](double value) { return fmt::format("{:.4g}", value); };
  std::vector<Quantity> rows{
      {"latency, ms", ms(number(a, "ms")), ms(number(b, "ms")), fmt::format("{:+.4g}", number(difference, "ms"))},
      {"cycles", with_separators(count(a, "cycles")), with_separators(count(b, "cycles")),
       signed_count(difference.at("cycles").get<std::int64_t>())},
      {"steps of the host, ms", ms(number(a, "host_ms")), ms(number(b, "host_ms")),
       fmt::format("{:+.4g}", number(b, "host_ms") - number(a, "host_ms"))}};
  for (const auto& [key, name] :
       {std::pair{"bytes_read", "bytes read from DRAM"}, std::pair{"bytes_written", "bytes written to DRAM"}})
    rows.push_back({name, with_separators(count(a, key)), with_separators(count(b, key)),
                    signed_count(difference.at(key).get<std::int64_t>())});
  rows.push_back({"energy", joules_or_dash(a.at("joules")), joules_or_dash(b.at("joules")),
                  signed_joules(difference.at("joules"))});
  return rows;
}

struct CauseRow {
  std::string name, a, b;  // cycles, or ms of the host
  double difference = 0;   // ms
};
std::vector<CauseRow> causes_of(const Json& explanation) {
  const Json &a = explanation.at("a"), &b = explanation.at("b");
  const Json& by_cause = explanation.at("difference").at("ms_by_cause");
  std::vector<CauseRow> rows;
  for (const std::string_view cause : driver::kTimeCauses) {
    const std::string key(cause);
    const auto of = [&](const Json& run) -> std::string {
      if (cause == "clock") return "-";
      if (cause == "host") return milliseconds_text(number(run, "host_ms") / 1e3);
      return with_separators(run.at("cycles_by_cause").value(key, std::uint64_t{0}));
    };
    const double difference = number(by_cause, cause);
    const bool none =
        difference == 0 && !a.at("cycles_by_cause").contains(key) && !b.at("cycles_by_cause").contains(key);
    if (!none) rows.push_back({key, of(a), of(b), difference});
  }
  return rows;
}

std::string layer_cell(const Json& side, const char* key) {
  return side.is_null() ? "-" : with_separators(count(side, key));
}

}  // namespace

std::string explanation_text(const Json& explanation, Amount amount) {
  const Json& whole = explanation.at("difference");
  const double all_ms = number(whole, "ms");
  std::string text = entry("A", run_text(explanation.at("a"))) + entry("B", run_text(explanation.at("b"))) +
                     entry("explained", verdict(explanation)) + "\n";
  TextTable sums({"", ">A", ">B", ">B - A"});
  for (const Quantity& row : quantities(explanation)) sums.add({row.name, row.a, row.b, row.difference});
  text += sums.to_string() + "\n";
  TextTable causes({"cause", ">A, cycles", ">B, cycles", ">B - A, us", ">share"});
  for (const CauseRow& row : causes_of(explanation))
    causes.add({row.name, row.a, row.b, signed_us(row.difference), share_of(row.difference, all_ms)});
  causes.add({"all", with_separators(count(explanation.at("a"), "cycles")),
              with_separators(count(explanation.at("b"), "cycles")), signed_us(all_ms), share_of(all_ms, all_ms)});
  text += causes.to_string() + "\n";

  const Json& layers = explanation.at("layers");
  constexpr std::size_t kMost = 12;
  const std::size_t shown = amount == Amount::details ? layers.size() : std::min(kMost, layers.size());
  const bool details = amount == Amount::details;
  std::vector<std::string> headers{"layer", ">A, cycles", ">B, cycles", ">B - A, us", ">share", "most by, us"};
  if (details) headers.insert(headers.end(), {"bound of A", "bound of B", ">B - A, bytes", ">B - A, energy"});
  TextTable table(headers);
  double others = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Json &layer = layers[i], &difference = layer.at("difference");
    const double ms = number(difference, "ms");
    if (i >= shown) {
      others += ms;
      continue;
    }
    const std::string name = layer.at("name").get<std::string>();
    std::vector<std::string> cells{details ? name : shortened(name),
                                   layer_cell(layer.at("a"), "cycles"),
                                   layer_cell(layer.at("b"), "cycles"),
                                   signed_us(ms),
                                   share_of(ms, all_ms),
                                   main_causes(difference.at("ms_by_cause"))};
    if (details) {
      for (const char* side : {"a", "b"})
        cells.push_back(layer.at(side).is_null() ? "-" : layer.at(side).at("bound").get<std::string>());
      cells.push_back(signed_count(difference.at("bytes_read").get<std::int64_t>() +
                                   difference.at("bytes_written").get<std::int64_t>()));
      cells.push_back(signed_joules(difference.at("joules")));
    }
    table.add(cells);
  }
  text += table.to_string();
  if (shown < layers.size())
    text +=
        fmt::format("  and {} others: {} us, {}\n", layers.size() - shown, signed_us(others), share_of(others, all_ms));
  if (!details) text += "\n" + entry("next", "--details has all layers, their bounds, bytes and energy");
  return text;
}

namespace {

constexpr std::string_view kExplanationStyle =
    R"(:root { --more: #b3372d; --less: #1f7a45; }
@media (prefers-color-scheme: dark) { :root { --more: #e0776b; --less: #6fc98f; } }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; margin: 16px 0; }
.scroll { overflow-x: auto; } th { white-space: nowrap; } td.name { overflow-wrap: anywhere; min-width: 110px; }
.diff { min-width: 160px; } .halves { display: grid; grid-template-columns: 1fr 1fr; }
.halves > span { height: 10px; display: flex; } .halves > .left { justify-content: flex-end; border-right: 1px solid var(--muted); }
.more { background: var(--more); border-radius: 0 3px 3px 0; } .less { background: var(--less); border-radius: 3px 0 0 3px; }
.note { color: var(--muted); })";

// A bar to the right for more time in B, to the left for less.
std::string bar(double ms, double most) {
  const double width = most > 0 ? 100 * std::abs(ms) / most : 0;
  const std::string piece =
      fmt::format("<i class=\"{}\" style=\"width: {:.2f}%\"></i>", ms < 0 ? "less" : "more", width);
  return fmt::format(
      "<td class=\"diff\"><div class=\"halves\"><span class=\"left\">{}</span><span>{}</span></div></td>",
      ms < 0 ? piece : "", ms > 0 ? piece : "");
}

std::string cells(std::span<const std::string> texts) {
  std::string html;
  for (const std::string& text : texts) html += fmt::format("<td class=\"number\">{}</td>", escaped_html(text));
  return html;
}

std::string head(std::initializer_list<std::string_view> names) {
  std::string html = "<div class=\"scroll\"><table><tr>";
  for (const std::string_view name : names) html += fmt::format("<th>{}</th>", name);
  return html + "</tr>\n";
}

}  // namespace

std::string explanation_page(const Json& explanation) {
  const double all_ms = number(explanation.at("difference"), "ms");
  std::string body =
      fmt::format("<p>A: {}<br>B: {}</p>\n<p><b>{}</b></p>\n", escaped_html(run_text(explanation.at("a"))),
                  escaped_html(run_text(explanation.at("b"))), verdict(explanation));
  body += "<section>" + head({"", "A", "B", "B - A"});
  for (const Quantity& row : quantities(explanation))
    body += fmt::format("<tr><td>{}</td>{}</tr>\n", row.name, cells(std::vector{row.a, row.b, row.difference}));
  body += "</table></div></section>\n<section><h2>Causes</h2>\n" +
          head({"cause", "A, cycles", "B, cycles", "B - A, us", "share", "less | more time in B"});
  const std::vector<CauseRow> causes = causes_of(explanation);
  double most = 0;
  for (const CauseRow& row : causes) most = std::max(most, std::abs(row.difference));
  for (const CauseRow& row : causes)
    body += fmt::format("<tr><td>{}</td>{}{}</tr>\n", row.name,
                        cells(std::vector{row.a, row.b, signed_us(row.difference), share_of(row.difference, all_ms)}),
                        bar(row.difference, most));
  body += "</table></div></section>\n<section><h2>Layers</h2>\n" +
          head({"layer", "A, cycles", "B, cycles", "B - A, us", "share", "less | more time in B", "most by, us",
                "B - A, bytes", "B - A, energy"});
  most = 0;
  for (const Json& layer : explanation.at("layers"))
    most = std::max(most, std::abs(number(layer.at("difference"), "ms")));
  for (const Json& layer : explanation.at("layers")) {
    const Json& difference = layer.at("difference");
    const double ms = number(difference, "ms");
    body += fmt::format("<tr><td class=\"name\">{}</td>{}{}<td>{}</td>{}</tr>\n", escaped_member(layer, "name"),
                        cells(std::vector{layer_cell(layer.at("a"), "cycles"), layer_cell(layer.at("b"), "cycles"),
                                          signed_us(ms), share_of(ms, all_ms)}),
                        bar(ms, most), escaped_html(main_causes(difference.at("ms_by_cause"))),
                        cells(std::vector{signed_count(difference.at("bytes_read").get<std::int64_t>() +
                                                       difference.at("bytes_written").get<std::int64_t>()),
                                          signed_joules(difference.at("joules"))}));
  }
  body += "</table></div></section>\n<p class=\"note\">docs/howto/comparing.md describes every number.</p>\n";
  return html_page("dovetail compare --explain", kExplanationStyle, body);
}

}  // namespace dovetail::cli
