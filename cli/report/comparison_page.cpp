// The page of a comparison: bars of latency and energy for each model, the numbers, and what is missing.
#include <algorithm>
#include <string>

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

std::string name_of(const driver::ComparedRow& row) {
  return escaped_html(row.machine.empty() ? row.target : fmt::format("{} {}", row.target, row.machine));
}

// One bar for each row that has the number. `text` is the label of the bar.
std::string bars(const driver::ComparedModel& model, std::string_view title, std::string_view kind, auto number,
                 auto text) {
  double most = 0;
  for (const driver::ComparedRow& row : model.rows)
    if (row.available()) most = std::max(most, number(row));
  if (most <= 0) return {};
  std::string html = fmt::format("<h3>{}</h3>\n<div class=\"bars\">\n", title);
  for (const driver::ComparedRow& row : model.rows)
    if (row.available() && number(row) > 0)
      html += fmt::format(
          "<span class=\"name\">{}</span><div class=\"track\"><div class=\"bar {}\" style=\"width: "
          "{:.2f}%\"></div></div>"
          "<span class=\"value\">{}</span>\n",
          name_of(row), kind, 100 * number(row) / most, text(row));
  return html + "</div>\n";
}

std::string table_row(const driver::ComparedModel& model, const driver::ComparedRow& row) {
  if (!row.available())
    return fmt::format("<tr><td>{}</td><td>{}</td><td colspan=\"8\" class=\"missing\">not run: {}</td></tr>\n",
                       escaped_html(row.target), escaped_html(row.machine), escaped_html(row.unavailable));
  const bool equal = row.agreement && row.agreement->equal();
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{:.2f}x</td>"
      "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td>"
      "<td class=\"{}\">{}</td></tr>\n",
      escaped_html(row.target), escaped_html(row.machine), milliseconds_text(row.seconds),
      rate_text(row.seconds / row.samples()), speed_up(model, row), row.joules ? joules_text(*row.joules) : "-",
      driver::bytes_text(row.bundle_bytes), driver::bytes_text(row.arena_bytes), escaped_html(shares_text(row)),
      equal ? "equal" : "differs", escaped_html(agreement_text(row)));
}

std::string notes(const driver::ComparedRow& row) {
  std::string text;
  if (!row.available())
    return fmt::format("<dd>{}{}{}</dd>\n", escaped_html(row.unavailable), row.hint.empty() ? "" : "; ",
                       escaped_html(row.hint));
  if (row.accelerator) {
    const driver::ComparedAccelerator& accel = *row.accelerator;
    text += fmt::format("<dd>{} cycles = {} at {:.6g} MHz in {} step{}; memory {}; DRAM {} read, {} written</dd>\n",
                        with_separators(accel.cycles), milliseconds_text(accel.seconds), accel.clock_mhz, accel.steps,
                        accel.steps == 1 ? "" : "s", escaped_html(accel.memory), driver::bytes_text(accel.dram_read),
                        driver::bytes_text(accel.dram_written));
    if (accel.count > 1)
      text +=
          fmt::format("<dd>a batch of {} samples, one on each accelerator; all share the memory</dd>\n", accel.count);
    if (accel.other_steps > 0)
      text += fmt::format("<dd>{} in {} step{} of this machine, median of {}</dd>\n",
                          milliseconds_text(row.measured.median), accel.other_steps, accel.other_steps == 1 ? "" : "s",
                          row.measured.runs);
  } else {
    text += fmt::format("<dd>median of {} runs; 10 % to 90 %: {} to {}</dd>\n", row.measured.runs,
                        milliseconds_text(row.measured.low), milliseconds_text(row.measured.high));
  }
  text += fmt::format("<dd>energy {}{}</dd>\n", row.joules ? "" : "missing: ", escaped_html(row.energy_from));
  if (row.energy)
    for (const std::string& what : row.energy->energy.missing)
      text += fmt::format("<dd>not included: {}</dd>\n", escaped_html(what));
  return text;
}

}  // namespace

std::string comparison_page(const driver::Comparison& comparison) {
  std::string body = fmt::format("<p>{} thread{}; outputs compared with the reference</p>\n", comparison.threads,
                                 comparison.threads == 1 ? "" : "s");
  for (const std::string& input : comparison.inputs) body += fmt::format("<p>input {}</p>\n", escaped_html(input));
  for (const driver::ComparedModel& model : comparison.models) {
    body += fmt::format("<section><h2>{}</h2>\n<p>{} multiplications; {}</p>\n", escaped_html(model.file),
                        with_separators(model.macs), escaped_html(model.reference));
    body += bars(
        model, "latency", "latency", [](const driver::ComparedRow& row) { return row.seconds; },
        [](const driver::ComparedRow& row) { return milliseconds_text(row.seconds); });
    body += bars(
        model, "energy of an inference", "energy",
        [](const driver::ComparedRow& row) { return row.joules.value_or(0); },
        [](const driver::ComparedRow& row) { return joules_text(*row.joules); });
    body +=
        "<div class=\"scroll\"><table><tr><th>target</th><th>machine</th><th>latency</th><th>inferences/s</th>"
        "<th>speedup</th><th>energy</th><th>bundle</th><th>arena</th><th>multiplications</th><th>outputs</th></tr>\n";
    for (const driver::ComparedRow& row : model.rows) body += table_row(model, row);
    body += "</table></div>\n<dl>\n";
    for (const driver::ComparedRow& row : model.rows) body += fmt::format("<dt>{}</dt>\n{}", name_of(row), notes(row));
    body += "</dl></section>\n";
  }
  return html_page("dovetail compare", kComparisonStyle, body);
}

}  // namespace dovetail::cli
