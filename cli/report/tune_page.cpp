// The page of a tuning run: a curve for each task, the gains, the best schedules, the trials. The curves are SVG, so
// that the page needs no script.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/report/html_page.h"
#include "cli/report/tune_report.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kStyle =
    R"(:root { --best: #2563c9; --point: #93a1b3; --failed: #c2453a; }
@media (prefers-color-scheme: dark) { :root { --best: #77a7f3; --point: #5d6a7a; --failed: #e0776b; } }
.tasks { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(340px, 100%), 1fr)); gap: 16px; margin: 16px 0; }
.task { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; min-width: 0; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--muted); font-size: 10px; }
.axis { stroke: var(--line); } .best { fill: none; stroke: var(--best); stroke-width: 2; }
.trial { fill: var(--point); } .failed { stroke: var(--failed); stroke-width: 1.5; }
pre { overflow-x: auto; font-size: 12px; background: var(--page); padding: 8px; border-radius: 6px; }
summary { cursor: pointer; color: var(--muted); })";

// A plot over the trials: cost of each candidate, and the best cost so far, as multiples of the default's cost.
std::string curve(const Json& task) {
  constexpr double kWidth = 340, kHeight = 150, kLeft = 34, kRight = 6, kTop = 8, kBottom = 20;
  const Json& trials = task.at("trials");
  const double default_cost = task.at("default_cost").get<double>();
  double least = 1;
  for (const Json& trial : trials)
    if (trial.contains("cost")) least = std::min(least, trial.at("cost").get<double>() / default_cost);
  // The gain fills a quarter of the height, unless it is too small to be visible. Costs above the range are drawn at
  // the top.
  const double high = std::clamp(1 + 3 * (1 - least), 1.2, 2.0), low = std::max(0.0, least - 0.1 * (high - least));
  const double count = std::max<double>(1, static_cast<double>(trials.size()));
  const auto x = [&](double trial) { return kLeft + (kWidth - kLeft - kRight) * trial / count; };
  const auto y = [&](double cost) {
    return kTop + (kHeight - kTop - kBottom) * (high - std::min(cost, high)) / (high - low);
  };
  std::string points, line = fmt::format("{:.1f},{:.1f}", x(0), y(1));
  double best = 1;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Json& trial = trials[i];
    const std::string decisions = escaped_member(trial, "decisions");
    const double at = static_cast<double>(i) + 1;
    if (!trial.contains("cost")) {
      points += fmt::format("<path class=\"failed\" d=\"M{0:.1f} {1:.1f}l4 4m0 -4l-4 4\"><title>{2}</title></path>",
                            x(at) - 2, kTop, fmt::format("{}: {}", escaped_member(trial, "outcome"), decisions));
      continue;
    }
    const double cost = trial.at("cost").get<double>() / default_cost;
    points += fmt::format("<circle class=\"trial\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"><title>{}</title></circle>",
                          x(at), y(cost), fmt::format("{:.3f} of the default: {}", cost, decisions));
    line += fmt::format(" {:.1f},{:.1f}", x(at), y(best));
    best = std::min(best, cost);
    line += fmt::format(" {:.1f},{:.1f}", x(at), y(best));
  }
  line += fmt::format(" {:.1f},{:.1f}", x(count), y(best));
  std::string axes;
  for (const double cost : {low, 1.0, high})
    axes += fmt::format(
        "<line class=\"axis\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"2\" "
        "y=\"{3:.1f}\">{4:.2f}</text>",
        kLeft, kWidth - kRight, y(cost), y(cost) + 3, cost);
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"costs over trials\">{}{}<polyline class=\"best\" "
      "points=\"{}\"/>"
      "<text x=\"{}\" y=\"{}\">trials: {}; crosses are candidates that failed</text></svg>",
      kWidth, kHeight, axes, points, line, kLeft, kHeight - 6, trials.size());
}

std::string words_of(const Json& decisions) {
  std::string text;
  for (const auto& [name, value] : decisions.items())
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value.get<std::string>());
  return escaped_html(text);
}

}  // namespace

std::string tune_page(const Json& report) {
  std::string rows, panels, all;
  for (const auto& [target, gain] : report.at("gains").items())
    all += fmt::format("{}: {:.3f}x in the geometric mean, {:.3f}x for all kernels together; ", escaped_html(target),
                       gain.at("geometric_mean").get<double>(), gain.at("network").get<double>());
  for (const Json& task : report.at("tasks")) {
    const std::string name = escaped_member(task, "name"), target = escaped_member(task, "target"),
                      kind = escaped_member(task, "kind");
    const auto first = task.at("default_cost").get<double>(), best = task.at("best_cost").get<double>();
    const double gain = best > 0 ? first / best : 1;
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{:.6g}</td>"
        "<td class=\"number\">{:.6g}</td><td>{}</td><td class=\"number\">{:.3f}x</td><td "
        "class=\"number\">{}</td><td>{}</td></tr>\n",
        name, target, kind, task.at("uses").get<std::int64_t>(), first, best, escaped_member(task, "unit"), gain,
        task.at("trials").size(), escaped_member(task, "ended"));
    panels += fmt::format(
        "<div class=\"task\"><h2>{}</h2><p>{} {}, task {}: {:.3f}x as fast as the default</p>{}<p>{}</p>"
        "<details><summary>best schedule</summary><pre>{}</pre></details></div>\n",
        name, target, kind, escaped_member(task, "task"), gain, curve(task), words_of(task.at("best_decisions")),
        escaped_member(task, "best_trace"));
  }
  return html_page(
      "Tuning of " + report.at("model").get<std::string>(), kStyle,
      fmt::format("<p>{} tasks; {}search {}, ranking {}. Curves: cost as a multiple of the default's, and the best so "
                  "far.</p>\n<div class=\"tasks\">\n{}</div>\n<div "
                  "class=\"scroll\"><table><tr><th>kernel</th><th>target</th><th>kind</th>"
                  "<th>uses</th><th>default</th><th>best</th><th>unit</th><th>faster</th><th>trials</th><th>ended "
                  "by</th></tr>\n{}</table></div>\n",
                  report.at("tasks").size(), all, escaped_member(report, "search"), escaped_member(report, "ranking"),
                  panels, rows));
}

}  // namespace dovetail::cli
