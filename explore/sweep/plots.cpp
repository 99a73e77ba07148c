#include "explore/sweep/plots.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "explore/plot/chart.h"
#include "explore/plot/drawing.h"
#include "simulator/trace/profile.h"

namespace dovetail::explore {

namespace {

constexpr double kWidth = 340;  // of a plot: a column of a paper and a half
constexpr double kSmall = 7, kText = 8;

using Files = std::map<std::string, std::string>;

void add(Files& files, std::string name, const Drawing& drawing, std::string_view title) {
  // Names that differ in other characters only are the same in files.
  const std::string stem = name;
  for (int number = 2; files.contains(name + ".svg"); ++number) name = fmt::format("{}-{}", stem, number);
  files[name + ".svg"] = drawing.svg(title);
  files[name + ".pdf"] = drawing.pdf(title);
}

// A name for a file: what is neither a letter nor a digit becomes '_'.
std::string file_name(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') c = '_';
  return text;
}

double value_of(const Json& point, const Json& objective) {
  return point.at("values").at(objective.at("key").get<std::string>()).get<double>();
}
std::string title_of(const Json& objective) { return objective.at("title").get<std::string>(); }

bool is_measured(const Json& point) { return point.at("state") == "measured"; }

// All measured points, and the front, across two objectives.
Drawing scatter(const Json& report, const Json& x, const Json& y) {
  const Json &points = report.at("points"), &front = report.at("front");
  std::vector<double> xs, ys;
  for (const Json& point : points)
    if (is_measured(point)) xs.push_back(value_of(point, x)), ys.push_back(value_of(point, y));
  constexpr double kHeight = 250, kLeft = 52, kBottom = 32;
  Drawing drawing(kWidth, kHeight);
  const std::string reach = report.at("objectives").size() == 2
                                ? "on the front"
                                : fmt::format("on the front of {} objectives", report.at("objectives").size());
  const double top = 8 + legend(drawing, {kLeft, 6}, kWidth - kLeft - 8,
                                {{kGray, "measured"}, {kBlue, reach}, {kVermilion, "best of these two"}});
  const Chart chart(drawing, {kLeft, top}, kWidth - kLeft - 14, kHeight - top - kBottom, Scale::of(title_of(x), xs),
                    Scale::of(title_of(y), ys));
  for (std::size_t i = 0; i < xs.size(); ++i) drawing.circle(chart.at(xs[i], ys[i]), 1.6, kGray);
  // The points that no other one beats in these two alone, as a line of steps.
  const auto cost = [](const Json& objective, double value) {
    return objective.at("larger").get<bool>() ? -value : value;
  };
  std::vector<std::pair<double, double>> sorted;  // costs
  for (std::size_t i = 0; i < xs.size(); ++i) sorted.emplace_back(cost(x, xs[i]), cost(y, ys[i]));
  std::ranges::sort(sorted);
  std::vector<Drawing::Point> line;
  double best = INFINITY, before = 0;
  for (const auto& [a, b] : sorted) {
    if (b >= best) continue;
    if (!line.empty()) line.push_back(chart.at(cost(x, a), before));
    before = cost(y, b);
    line.push_back(chart.at(cost(x, a), before));
    best = b;
  }
  drawing.line(line, kVermilion, 1);
  for (const Json& row : front) {
    const Json& point = points.at(row.at("point").get<std::size_t>());
    drawing.circle(chart.at(value_of(point, x), value_of(point, y)), 2.4, kBlue);
  }
  return drawing;
}

// Bars from 1 to the factor of a step, on a logarithmic scale.
Drawing step_bars(const Json& report) {
  const Json &steps = report.at("steps"), &objectives = report.at("objectives");
  constexpr double kBar = 6, kGap = 5, kRight = 40;
  const double group = static_cast<double>(objectives.size()) * kBar + kGap;
  std::vector<std::pair<Color, std::string>> names;
  for (std::size_t i = 0; i < objectives.size(); ++i)
    names.emplace_back(kPalette[i % std::size(kPalette)], title_of(objectives[i]));
  std::vector<std::string> labels;
  double left = 0, most = 1.05;
  for (const Json& step : steps) {
    labels.push_back(fmt::format("{}: {} → {}", step.at("axis").get<std::string>(), step.at("from").get<std::string>(),
                                 step.at("to").get<std::string>()));
    left = std::max(left, text_width(labels.back(), kSmall));
    for (const Json& factor : step.at("factors")) {
      const double value = factor.is_null() ? 0 : factor.get<double>();
      if (value > 0) most = std::max({most, value, 1 / value});
    }
  }
  left += 30;  // and the factor of the longest bar
  const double width = std::max(kWidth, left + 160);
  const double bars = static_cast<double>(steps.size()) * group;
  Drawing drawing(width, bars + 70);
  const double top = 8 + legend(drawing, {8, 6}, width - 16, names);
  const Scale scale{
      .title = "factor of one step, all else equal", .least = 1 / most, .most = most, .logarithmic = true};
  const double plot = width - left - kRight;
  const auto place = [&](double value) { return left + plot * scale.place(value); };
  for (std::size_t s = 0; s < labels.size(); ++s) {
    const double y = top + static_cast<double>(s) * group;
    drawing.text({left - 22, y + (group - kGap) / 2 + kSmall * 0.35}, labels[s], kSmall, Anchor::end);
    for (std::size_t i = 0; i < objectives.size(); ++i) {
      const Json& given = steps[s].at("factors").at(i);
      const double factor = given.is_null() ? 0 : given.get<double>(), at = y + static_cast<double>(i) * kBar;
      if (!(factor > 0)) continue;
      drawing.rectangle({std::min(place(factor), place(1)), at}, std::abs(place(factor) - place(1)), kBar - 1,
                        kPalette[i % std::size(kPalette)]);
      drawing.text({factor < 1 ? place(factor) - 2 : place(factor) + 2, at + kBar - 1}, fmt::format("{:.2f}", factor),
                   5.5, factor < 1 ? Anchor::end : Anchor::start);
    }
  }
  drawing.line({{place(1), top - 2}, {place(1), top + bars}}, kBlack);
  drawing.text({left + plot / 2, top + bars + kText + 6}, scale.title, kText, Anchor::middle);
  return drawing;
}

// The layers of a model in the order of the program, by what the compute unit did.
Drawing layer_bars(const Json& layers, const std::string& title) {
  struct Row {
    std::string name;
    std::vector<double> cycles;
    double all = 0;
  };
  std::vector<Row> rows;
  std::vector<double> of_cause(simulator::kCycleCauseNames.size(), 0);
  for (const Json& layer : layers) {
    Row row{.name = layer.at("layer").get<std::string>(), .cycles = {}};
    for (std::size_t c = 0; c < of_cause.size(); ++c) {
      row.cycles.push_back(layer.at("cycles_by_cause").at(std::string(simulator::kCycleCauseNames[c])).get<double>());
      of_cause[c] += row.cycles.back();
      row.all += row.cycles.back();
    }
    if (row.all > 0) rows.push_back(std::move(row));
  }
  // The same color for the same cause in every plot.
  constexpr Color kOfCause[] = {kBlue,      kOrange, kGreen,  {0, 90, 60}, kGray,
                                kVermilion, kPurple, kYellow, kLightGray,  kSkyBlue};
  std::vector<std::pair<Color, std::string>> names;
  for (std::size_t c = 0; c < of_cause.size(); ++c)
    if (of_cause[c] > 0) names.emplace_back(kOfCause[c], std::string(simulator::kCycleCauseNames[c]));
  constexpr double kBar = 8;
  double left = 0, most = 0;
  for (const Row& row : rows) {
    left = std::max(left, text_width(row.name, kSmall));
    most = std::max(most, row.all);
  }
  left += 14;
  const double width = std::max(kWidth, left + 200), bars = static_cast<double>(rows.size()) * kBar;
  Drawing drawing(width, bars + 76);
  drawing.text({8, 12}, title, kText);
  const double top = 20 + legend(drawing, {8, 18}, width - 16, names);
  const Scale scale = Scale::of("cycles", {0, most}, true);
  const double plot = width - left - 20;
  for (const double tick : scale.ticks()) {
    const double x = left + plot * scale.place(tick);
    drawing.line({{x, top}, {x, top + bars}}, kLightGray, 0.5);
    drawing.text({x, top + bars + kSmall + 3}, tick_text(tick), kSmall, Anchor::middle);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double y = top + static_cast<double>(r) * kBar;
    drawing.text({left - 6, y + kBar - 2}, rows[r].name, kSmall, Anchor::end);
    double from = 0;
    for (std::size_t c = 0; c < of_cause.size(); ++c) {
      const double length = plot * rows[r].cycles[c] / scale.most;
      if (length > 0) drawing.rectangle({left + from, y + 0.75}, length, kBar - 1.5, kOfCause[c]);
      from += length;
    }
  }
  drawing.text({left + plot / 2, top + bars + kSmall + kText + 7}, scale.title, kText, Anchor::middle);
  return drawing;
}

// The layers' multiplications of the model per byte and per cycle, below the roof of the hardware.
Drawing roofline(const Json& layers, const Json& roof, const std::string& title) {
  const double peak = roof.at("macs_per_cycle").get<double>(), rate = roof.at("bytes_per_cycle").get<double>();
  struct Spot {
    std::string name;
    double intensity, rate, cycles;
  };
  std::vector<Spot> spots;
  for (const Json& layer : layers) {
    const double macs = layer.at("useful_macs").get<double>(), cycles = layer.at("cycles").get<double>();
    const double bytes = layer.at("bytes_read").get<double>() + layer.at("bytes_written").get<double>();
    if (macs > 0 && cycles > 0 && bytes > 0)
      spots.push_back({layer.at("layer").get<std::string>(), macs / bytes, macs / cycles, cycles});
  }
  std::vector<double> xs{peak / rate}, ys{peak};
  for (const Spot& spot : spots) xs.push_back(spot.intensity), ys.push_back(spot.rate);
  for (std::vector<double>* values : {&xs, &ys}) {  // at least two decades, which are logarithmic
    const auto [low, high] = std::ranges::minmax(*values);
    if (high / low < 100) values->push_back(high / 100);
  }
  constexpr double kHeight = 260, kLeft = 52, kBottom = 32;
  Drawing drawing(kWidth, kHeight);
  drawing.text({8, 12}, title, kText);
  const double top = 22 + legend(drawing, {kLeft, 18}, kWidth - kLeft - 8,
                                 {{kBlack, "roof of multipliers and DRAM"}, {kBlue, "layer"}});
  const Scale x = Scale::of("multiplications of the model per byte", xs),
              y = Scale::of("multiplications of the model per cycle", ys);
  const Chart chart(drawing, {kLeft, top}, kWidth - kLeft - 14, kHeight - top - kBottom, x, y);
  const double knee = peak / rate;
  std::vector<Drawing::Point> line;
  const double from = std::max(x.least, y.least / rate);
  if (from < knee) line.push_back(chart.at(from, from * rate));
  line.push_back(chart.at(std::max(knee, x.least), peak));
  line.push_back(chart.at(x.most, peak));
  drawing.line(line, kBlack, 1.2);
  for (const Spot& spot : spots) drawing.circle(chart.at(spot.intensity, spot.rate), 2, kBlue);
  // The names of the layers that take longest, where no other point or name is.
  std::ranges::stable_sort(spots, std::greater{}, &Spot::cycles);
  std::vector<std::pair<Drawing::Point, double>> taken;  // place and width
  for (const Spot& spot : spots) {
    const Drawing::Point at = chart.at(spot.intensity, spot.rate);
    taken.push_back({{at.x - 2, at.y + 2}, 4});
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(spots.size(), 8); ++i) {
    const Drawing::Point at = chart.at(spots[i].intensity, spots[i].rate);
    const double width = text_width(spots[i].name, 5.5);
    const bool fits_right = at.x + 4 + width < kWidth;
    const Drawing::Point place{fits_right ? at.x + 4 : at.x - 4 - width, at.y + 2};
    const bool free = std::ranges::none_of(taken, [&](const auto& other) {
      return std::abs(other.first.y - place.y) < 6.5 && place.x < other.first.x + other.second &&
             other.first.x < place.x + width;
    });
    if (!free) continue;
    taken.emplace_back(place, width);
    drawing.text(place, spots[i].name, 5.5);
  }
  return drawing;
}

std::string latex(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) out += std::string("\\") + c;
    else if (c == '\\') out += "\\textbackslash{}";
    else if (c == '^') out += "\\textasciicircum{}";
    else if (c == '~') out += "\\textasciitilde{}";
    else out += c;
  }
  return out;
}
std::string csv(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// A table as CSV, and as LaTeX for the package booktabs, in which columns from `numbers` on are numbers.
void add_table(Files& files, const std::string& name, const std::vector<std::string>& head, std::size_t numbers,
               const std::vector<std::vector<std::string>>& rows) {
  std::string comma = fmt::format("{}\n", fmt::join(head, ",")), tex;
  tex = "% \\usepackage{booktabs}\n\\begin{tabular}{" + std::string(numbers, 'l') +
        std::string(head.size() - numbers, 'r') + "}\n\\toprule\n";
  const auto line = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> escaped;
    for (const std::string& cell : cells) escaped.push_back(latex(cell));
    return fmt::format("{} \\\\\n", fmt::join(escaped, " & "));
  };
  tex += line(head) + "\\midrule\n";
  for (const auto& row : rows) {
    std::vector<std::string> quoted;
    for (const std::string& cell : row) quoted.push_back(csv(cell));
    comma += fmt::format("{}\n", fmt::join(quoted, ","));
    tex += line(row);
  }
  files[name + ".csv"] = comma;
  files[name + ".tex"] = tex + "\\bottomrule\n\\end{tabular}\n";
}

std::string number_text(const Json& value) { return fmt::format("{:.4g}", value.get<double>()); }
std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void add_tables(Files& files, const Json& report) {
  const Json &points = report.at("points"), &objectives = report.at("objectives");
  std::vector<std::string> head, parameters;
  for (const Json& axis : report.at("axes"))
    for (const auto& [parameter, value] : axis.at("choices").at(0).items()) parameters.push_back(parameter);
  head = parameters;
  for (const Json& objective : objectives) head.push_back(title_of(objective));
  std::vector<std::vector<std::string>> rows;
  for (const Json& row : report.at("front")) {
    const Json& point = points.at(row.at("point").get<std::size_t>());
    std::vector<std::string> cells;
    for (const std::string& parameter : parameters) cells.push_back(text_of(point.at("chosen").at(parameter)));
    for (const Json& objective : objectives)
      cells.push_back(number_text(point.at("values").at(objective.at("key").get<std::string>())));
    rows.push_back(std::move(cells));
  }
  add_table(files, "front", head, parameters.size(), rows);
  head = {"parameter", "from", "to"};
  for (const Json& objective : objectives) head.push_back(title_of(objective));
  rows.clear();
  for (const Json& step : report.at("steps")) {
    std::vector<std::string> cells{text_of(step.at("axis")), text_of(step.at("from")), text_of(step.at("to"))};
    for (const Json& factor : step.at("factors"))
      cells.push_back(factor.is_null() ? "-" : fmt::format("{:.3f}", factor.get<double>()));
    rows.push_back(std::move(cells));
  }
  if (!rows.empty()) add_table(files, "steps", head, 3, rows);
}

}  // namespace

Files sweep_plots(const Json& report) {
  Files files;
  const Json &objectives = report.at("objectives"), &front = report.at("front");
  if (front.empty()) return files;
  const std::size_t axes = std::min<std::size_t>(objectives.size(), 3);
  for (std::size_t x = 0; x < axes; ++x)
    for (std::size_t y = x + 1; y < axes; ++y) {
      const auto key = [&](std::size_t i) { return file_name(objectives[i].at("key").get<std::string>()); };
      add(files, fmt::format("front-{}-{}", key(x), key(y)), scatter(report, objectives[x], objectives[y]),
          fmt::format("{} and {} of all points", title_of(objectives[x]), title_of(objectives[y])));
    }
  if (!report.at("steps").empty()) add(files, "steps", step_bars(report), "Effect of one step of each parameter");
  const Json& points = report.at("points");
  const auto cost = [&](const Json& row) {
    const double value = value_of(points.at(row.at("point").get<std::size_t>()), objectives[0]);
    return objectives[0].at("larger").get<bool>() ? -value : value;
  };
  const Json& best = *std::ranges::min_element(front, {}, cost);
  const std::string machine = points.at(best.at("point").get<std::size_t>()).at("machine").get<std::string>();
  for (std::size_t m = 0; m < best.at("layers").size(); ++m) {
    const std::string model = report.at("names").at(m).get<std::string>();
    const std::string title = fmt::format("{} on {}", model, machine);
    add(files, "layers-" + file_name(model), layer_bars(best.at("layers")[m], title), "Cycles of layers of " + title);
    add(files, "roofline-" + file_name(model), roofline(best.at("layers")[m], best.at("roof"), title),
        "Roofline of " + title);
  }
  add_tables(files, report);
  return files;
}

}  // namespace dovetail::explore
