#include "bench/tuning/plot.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace dovetail::bench {

using explore::Curve;

namespace {

// Colors for color-blind readers (Okabe and Ito), darker on light pages; dashes distinguish them in grayscale.
constexpr std::string_view kStyle = R"(
svg { font: 12px system-ui, sans-serif; }
text { fill: #3b434d; } .title { font-size: 13px; font-weight: 600; } .grid { stroke: #d9dee5; }
.page { fill: #ffffff; } .curve { fill: none; stroke-width: 2; }
.c0 { stroke: #0065a8; stroke-width: 3; } .c1 { stroke: #6b7480; stroke-dasharray: 2 3; } .c2 { stroke: #c25100; stroke-dasharray: 8 3; }
.c3 { stroke: #007d5a; stroke-dasharray: 12 3 2 3; } .c4 { stroke: #ab4a85; stroke-dasharray: 4 2; }
.c5 { stroke: #0065a8; stroke-dasharray: 3 2; }
@media (prefers-color-scheme: dark) { text { fill: #cdd5de; } .grid { stroke: #303843; } .page { fill: #15181d; }
.c0 { stroke: #5cb8f0; } .c1 { stroke: #98a3b0; } .c2 { stroke: #e88a3c; } .c3 { stroke: #2fbd92; } .c4 { stroke: #d98abb; } .c5 { stroke: #5cb8f0; } }
)";
constexpr double kPanelWidth = 400, kPanelHeight = 250, kLeft = 52, kRight = 18, kTop = 62, kBottom = 46;
constexpr int kClasses = 6;  // classes of curves

std::string legend(const Comparison& comparison) {
  std::string text;
  double x = kLeft;
  for (std::size_t s = 0; s < comparison.searches.size(); ++s) {
    text += fmt::format("<path class=\"curve c{}\" d=\"M{:.0f} 18h26\"/><text x=\"{:.0f}\" y=\"22\">{}</text>\n",
                        s % kClasses, x, x + 32, comparison.searches[s]);
    x += 48 + 7.5 * static_cast<double>(comparison.searches[s].size());
  }
  return text;
}

// Trials on a logarithmic axis: the default, from which all searches learn first, is drawn at 1/2.
class Panel {
 public:
  Panel(const Comparison& comparison, const TargetComparison& target, double left)
      : comparison_(comparison), target_(target), left_(left + kLeft) {
    for (std::size_t s = 0; s < comparison.searches.size(); ++s)
      curves_.push_back(explore::mean_curve(target.tasks, s));
    double worst = 1;
    for (const Curve& curve : curves_) worst = std::max(worst, curve.front());
    highest_ = 1 + std::ceil((worst - 1) * 50 + 1e-9) / 50;
  }

  std::string text() const {
    std::string svg =
        fmt::format("<text class=\"title\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", left_, kTop - 12, target_.title);
    const double width = kPanelWidth - kLeft - kRight;
    constexpr int kLines = 4;
    for (int i = 0; i <= kLines; ++i) {
      const double cost = 1 + (highest_ - 1) * i / kLines;
      svg += fmt::format(
          "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}h{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
          "text-anchor=\"end\">{5:.3f}</text>\n",
          left_, y(cost), width, left_ - 6, y(cost) + 4, cost);
    }
    svg += tick(0.5, "default");
    for (std::size_t trials = 2; trials <= comparison_.trials; trials *= 4)
      svg += tick(static_cast<double>(trials), std::to_string(trials));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">trials</text>\n", left_ + width / 2,
                       kTop + kPanelHeight + 34);
    // In reverse order, so that the first curves of the table are on top.
    for (std::size_t s = curves_.size(); s-- > 0;) svg += curve(s);
    return svg;
  }

 private:
  double x(double trials) const {
    const double most = std::log2(static_cast<double>(comparison_.trials));
    return left_ + (kPanelWidth - kLeft - kRight) * (std::log2(trials) + 1) / (most + 1);
  }
  double y(double cost) const { return kTop + kPanelHeight * (highest_ - cost) / (highest_ - 1); }

  std::string tick(double trials, std::string_view label) const {
    return fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}v{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        x(trials), kTop, kPanelHeight, kTop + kPanelHeight + 16, label);
  }

  std::string curve(std::size_t search) const {
    const Curve& costs = curves_[search];
    std::string path = fmt::format("M{:.1f} {:.1f}", x(0.5), y(costs.front()));
    for (std::size_t trial = 1; trial < costs.size(); ++trial)
      if (costs[trial] != costs[trial - 1] || trial + 1 == costs.size())
        path += fmt::format("H{:.1f}V{:.1f}", x(static_cast<double>(trial)), y(costs[trial]));
    return fmt::format("<path class=\"curve c{}\" d=\"{}\"/>\n", search % kClasses, path);
  }

  const Comparison& comparison_;
  const TargetComparison& target_;
  double left_, highest_ = 1;
  std::vector<Curve> curves_;
};

}  // namespace

std::string svg_of(const Comparison& comparison) {
  const double width = kPanelWidth * static_cast<double>(std::max<std::size_t>(1, comparison.targets.size()));
  const double height = kTop + kPanelHeight + kBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\" aria-label=\"best cost so far as a multiple of the table's best, over "
      "trials\">\n<style>{2}</style>\n"
      "<rect class=\"page\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n",
      width, height, kStyle);
  svg += legend(comparison);
  for (std::size_t t = 0; t < comparison.targets.size(); ++t)
    svg += Panel(comparison, comparison.targets[t], kPanelWidth * static_cast<double>(t)).text();
  return svg + "</svg>\n";
}

}  // namespace dovetail::bench
