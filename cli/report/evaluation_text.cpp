#include "cli/report/evaluation_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text_table.h"

namespace dovetail::cli {

namespace {

std::string share_text(std::int64_t part, std::int64_t whole) {
  return fmt::format("{} of {}, {:.2f} %", with_separators(static_cast<std::uint64_t>(part)),
                     with_separators(static_cast<std::uint64_t>(whole)),
                     100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(1, whole)));
}

}  // namespace

std::string figures_text(const std::vector<driver::Figure>& figures) {
  std::string text;
  for (const driver::Figure& figure : figures) text += fmt::format("{:<13} {}\n", figure.name, figure.text);
  return text;
}

std::string agreement_text(const std::vector<driver::SampleAgreement>& agreement) {
  std::string text;
  for (const driver::SampleAgreement& row : agreement) {
    text +=
        fmt::format("agreement     {}: {} agree (same top-1 class){}\n", row.output, share_text(row.same, row.samples),
                    row.first ? fmt::format("; the first that differs: sample {}", *row.first) : "");
    text += fmt::format("difference    {}: at most {:.6g}, where the largest is {:.6g}\n", row.output, row.largest,
                        row.largest_other);
  }
  return text;
}

Json accuracy_json(const std::vector<driver::Figure>& figures) {
  Json json{{"samples", figures.front().whole}, {"top1", figures.front().part}, {"top5", nullptr}};
  if (figures.size() > 1) json["top5"] = figures[1].part;
  return json;
}

Json metric_json(const driver::Metric& metric, const std::vector<driver::Figure>& figures) {
  Json values = Json::object();
  for (const driver::Figure& figure : figures)
    values[figure.key] = std::isfinite(figure.value) ? Json(figure.value) : Json(nullptr);
  return {{"name", metric.name}, {"figures", values}};
}

Json agreement_json(const std::vector<driver::SampleAgreement>& agreement) {
  Json rows = Json::array();
  for (const driver::SampleAgreement& row : agreement)
    rows.push_back({{"output", row.output},
                    {"samples", row.samples},
                    {"same", row.same},
                    {"largest_difference", std::isfinite(row.largest) ? Json(row.largest) : Json(nullptr)},
                    {"largest_other", row.largest_other},
                    {"first", row.first ? Json(*row.first) : Json(nullptr)}});
  return rows;
}

}  // namespace dovetail::cli
