// The page of a comparison: bars of latency and energy for each model, the numbers, and what is missing.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/comparison_text.h"
#include "cli/report/energy_text.h"
#include "cli/report/html_page.h"
#include "cli/report/latency_text.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kComparisonStyle =
    R"(:root { --latency: #2563c9; --energy: #c07a1b; --good: #1f7a45; --bad: #b3372d; }
@media (prefers-color-scheme: dark) { :root { --latency: #77a7f3; --energy: #e0a95e; --good: #6fc98f; --bad: #e0776b; } }
section { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; margin: 16px 0; }
.bars { display: grid; grid-template-columns: minmax(90px, max-content) 1fr max-content; gap: 2px 10px; align-items: center;
  margin: 8px 0 12px; }
.bars .name { overflow-wrap: anywhere; } .bars .value { text-align: right; font-variant-numeric: tabular-nums; }
.track { background: var(--page); height: 10px; border-radius: 3px; } .bar { height: 10px; border-radius: 3px; min-width: 1px; }
.latency { background: var(--latency); } .energy { background: var(--energy); }
.scroll { overflow-x: auto; } .equal { color: var(--good); } .differs { color: var(--bad); }
.missing { color: var(--muted); } th { white-space: nowrap; } h3 { font-size: 13px; margin: 10px 0 0; } dl { margin: 8px 0; }
dt { font-weight: 600; } dd { margin: 0 0 6px; color: var(--muted); overflow-wrap: anywhere; }
@media (max-width: 480px) { .bars { grid-template-columns: 1fr max-content; grid-auto-flow: dense; }
  .bars .track { grid-column: 1 / -1; } .bars .name { grid-column: 1; } .bars .value { grid-column: 2; } })";

bool available(const Json& row) { return row.at("available").get<bool>(); }

std::string name_of(const Json& row) {
  const std::string machine = escaped_member(row, "machine");
  return machine.empty() ? escaped_member(row, "target") : fmt::format("{} {}", escaped_member(row, "target"), machine);
}

double seconds(const Json& object, const char* key) { return object.at(key).get<double>() / 1e3; }

// One bar for each row that has the number. `text` is the label of the bar.
std::string bars(const Json& model, std::string_view title, std::string_view kind, auto number, auto text) {
  double most = 0;
  for (const Json& row : model.at("rows"))
    if (available(row)) most = std::max(most, number(row));
  if (most <= 0) return {};
  std::string html = fmt::format("<h3>{}</h3>\n<div class=\"bars\">\n", title);
  for (const Json& row : model.at("rows"))
    if (available(row) && number(row) > 0)
      html += fmt::format(
          "<span class=\"name\">{}</span><div class=\"track\"><div class=\"bar {}\" style=\"width: "
          "{:.2f}%\"></div></div>"
          "<span class=\"value\">{}</span>\n",
          name_of(row), kind, 100 * number(row) / most, text(number(row)));
  return html + "</div>\n";
}

std::string joules_or_dash(const Json& row) {
  return row.at("joules").is_null() ? "-" : joules_text(row.at("joules").get<double>());
}

std::string bytes(const Json& object, const char* key) {
  return driver::bytes_text(object.at(key).get<std::uint64_t>());
}

std::string table_row(const Json& row) {
  if (!available(row))
    return fmt::format("<tr><td>{}</td><td>{}</td><td colspan=\"8\" class=\"missing\">not run: {}</td></tr>\n",
                       escaped_member(row, "target"), escaped_member(row, "machine"), escaped_member(row, "why"));
  const Json& agreement = row.at("agreement");
  const bool agrees = agreement.is_object() && agreement.at("agrees").get<bool>();
  const Json& rate = row.at("inferences_per_second");
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{:.2f}x</td>"
      "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>"
      "<td class=\"{}\">{}</td></tr>\n",
      escaped_member(row, "target"), escaped_member(row, "machine"), milliseconds_text(seconds(row, "ms")),
      rate.is_null() ? "-" : rate_text(1 / rate.get<double>()), row.at("speed_up").get<double>(), joules_or_dash(row),
      bytes(row, "bundle_bytes"), bytes(row, "arena_bytes"),
      escaped_html(shares_text(row.at("shares").get<std::map<std::string, double>>())), agrees ? "equal" : "differs",
      escaped_html(agreement_text(agreement)));
}

std::string notes(const Json& row) {
  std::string text;
  if (!available(row)) {
    const std::string hint = escaped_member(row, "hint");
    return fmt::format("<dd>{}{}{}</dd>\n", escaped_member(row, "why"), hint.empty() ? "" : "; ", hint);
  }
  const Json &accel = row.at("accelerator"), &measured = row.at("measured");
  if (accel.is_object()) {
    const auto steps = accel.at("steps").get<std::uint64_t>(), others = accel.at("other_steps").get<std::uint64_t>();
    text +=
        fmt::format("<dd>{} cycles = {} at {:.6g} MHz in {} step{}; memory {}; DRAM {} read, {} written</dd>\n",
                    with_separators(accel.at("cycles").get<std::uint64_t>()), milliseconds_text(seconds(accel, "ms")),
                    accel.at("clock_mhz").get<double>(), steps, steps == 1 ? "" : "s", escaped_member(accel, "memory"),
                    bytes(accel, "dram_read_bytes"), bytes(accel, "dram_written_bytes"));
    if (const std::string beyond = escaped_member(accel, "beyond_design"); !beyond.empty())
      text += fmt::format("<dd>{}</dd>\n", beyond);
    if (const auto count = accel.at("accelerators").get<std::int64_t>();
        count > 1 && accel.at("split") == isa::name(isa::Split::samples))
      text += fmt::format("<dd>a batch of {} samples, one on each accelerator; all share the memory</dd>\n", count);
    if (others > 0)
      text += fmt::format("<dd>{} in {} step{} of this machine, median of {}</dd>\n",
                          milliseconds_text(seconds(measured, "median_ms")), others, others == 1 ? "" : "s",
                          measured.at("runs").get<std::uint64_t>());
  } else {
    text +=
        fmt::format("<dd>median of {} runs; 10 % to 90 %: {} to {}</dd>\n", measured.at("runs").get<std::uint64_t>(),
                    milliseconds_text(seconds(measured, "low_ms")), milliseconds_text(seconds(measured, "high_ms")));
  }
  text += fmt::format("<dd>energy {}{}</dd>\n", row.at("joules").is_null() ? "missing: " : "",
                      escaped_member(row, "energy_from"));
  if (row.at("energy").is_object())
    for (const Json& what : row.at("energy").at("missing"))
      text += fmt::format("<dd>not included: {}</dd>\n", escaped_html(what.get<std::string>()));
  return text;
}

}  // namespace

std::string comparison_page(const Json& comparison) {
  const int threads = comparison.at("threads").get<int>();
  std::string body =
      fmt::format("<p>{} thread{}; outputs compared with the reference</p>\n", threads, threads == 1 ? "" : "s");
  for (const Json& input : comparison.at("inputs"))
    body += fmt::format("<p>input {}</p>\n", escaped_html(input.get<std::string>()));
  for (const Json& model : comparison.at("models")) {
    body += fmt::format("<section><h2>{}</h2>\n<p>{} multiplications{}; {}</p>\n", escaped_member(model, "file"),
                        with_separators(model.at("macs").get<std::uint64_t>()),
                        model.at("batch") == 1 ? ""
                                               : fmt::format(" of a batch of {}; latency is the batch's",
                                                             model.at("batch").get<std::int64_t>()),
                        escaped_member(model, "reference"));
    body += bars(
        model, "latency", "latency", [](const Json& row) { return seconds(row, "ms"); }, milliseconds_text);
    body += bars(
        model, "energy of an inference", "energy",
        [](const Json& row) { return row.at("joules").is_null() ? 0 : row.at("joules").get<double>(); }, joules_text);
    body +=
        "<div class=\"scroll\"><table><tr><th>target</th><th>machine</th><th>latency</th><th>inferences/s</th>"
        "<th>speedup</th><th>energy</th><th>bundle</th><th>arena</th><th>multiplications</th><th>outputs</th></tr>\n";
    for (const Json& row : model.at("rows")) body += table_row(row);
    body += "</table></div>\n<dl>\n";
    for (const Json& row : model.at("rows")) body += fmt::format("<dt>{}</dt>\n{}", name_of(row), notes(row));
    body += "</dl></section>\n";
  }
  return html_page("dovetail compare", kComparisonStyle, body);
}

}  // namespace dovetail::cli
