#include "explore/plot/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dovetail::explore {

namespace {

constexpr double kSmall = 7, kText = 8;  // sizes of ticks, and of titles
constexpr double kLogarithmicFrom = 8;   // the ratio of the ends

// 1, 2 or 5 times a power of ten.
double nice_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0})
    if (rough <= step * power * (1 + 1e-9)) return step * power;
  return 10 * power;
}

// The ticks of a logarithmic scale: 1, 2 and 5 of each decade, or powers of ten if there are many.
std::vector<double> logarithmic_ticks(double least, double most) {
  std::vector<double> ticks;
  const bool few = most / least < 1e3;
  for (double power = std::pow(10, std::floor(std::log10(least))); power <= most * 1.0001; power *= 10)
    for (const double step : {1.0, 2.0, 5.0})
      if ((few || step == 1) && step * power >= least * 0.9999 && step * power <= most * 1.0001)
        ticks.push_back(step * power);
  return ticks;
}

}  // namespace

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3g} G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g} M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.3g} k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

Scale Scale::of(std::string title, const std::vector<double>& values, bool from_zero) {
  const auto [low, high] = std::ranges::minmax(values);
  Scale scale{.title = std::move(title)};
  if (low > 0 && high / low > kLogarithmicFrom) {
    // The next of 1, 2, 5 times a power of ten below and above.
    scale.logarithmic = true;
    const auto end = [](double value, bool up) {
      const double power = std::pow(10, std::floor(std::log10(value)));
      double best = up ? 10 * power : power;
      for (const double step : {1.0, 2.0, 5.0})
        if (up ? step * power >= value * 0.9999 && step * power < best
               : step * power <= value * 1.0001 && step * power > best)
          best = step * power;
      return best;
    };
    scale.least = end(low, false);
    scale.most = end(high, true);
    return scale;
  }
  const double span = from_zero ? std::max(high, 0.0) - std::min(low, 0.0) : high - low;
  const double step = nice_step((span > 0 ? span : std::max(std::abs(high), 1e-9)) / 5);
  scale.least = std::floor((from_zero ? std::min(low, 0.0) : low) / step + 1e-9) * step;
  scale.most = std::ceil((from_zero ? std::max(high, 0.0) : high) / step - 1e-9) * step;
  if (scale.most <= scale.least) scale.most = scale.least + step;
  return scale;
}

double Scale::place(double value) const {
  if (logarithmic) return std::log(value / least) / std::log(most / least);
  return (value - least) / (most - least);
}

std::vector<double> Scale::ticks() const {
  if (logarithmic) return logarithmic_ticks(least, most);
  const double step = nice_step((most - least) / 5);
  std::vector<double> ticks;
  for (double tick = std::ceil(least / step - 1e-9); tick * step <= most + 1e-9 * step; ++tick)
    ticks.push_back(tick == 0 ? 0 : tick * step);
  return ticks;
}

Chart::Chart(Drawing& drawing, Drawing::Point corner, double width, double height, Scale x, Scale y)
    : corner_(corner), width_(width), height_(height), x_(std::move(x)), y_(std::move(y)) {
  const double bottom = corner.y + height;
  double widest = 0;
  for (const double tick : x_.ticks()) {
    const double place = at(tick, y_.least).x;
    drawing.line({{place, corner.y}, {place, bottom}}, kLightGray, 0.5);
    drawing.text({place, bottom + kSmall + 3}, tick_text(tick), kSmall, Anchor::middle);
  }
  for (const double tick : y_.ticks()) {
    const double place = at(x_.least, tick).y;
    drawing.line({{corner.x, place}, {corner.x + width, place}}, kLightGray, 0.5);
    drawing.text({corner.x - 4, place + kSmall * 0.35}, tick_text(tick), kSmall, Anchor::end);
    widest = std::max(widest, text_width(tick_text(tick), kSmall));
  }
  drawing.line({corner, {corner.x, bottom}, {corner.x + width, bottom}}, kBlack);
  drawing.text({corner.x + width / 2, bottom + kSmall + kText + 7}, x_.title, kText, Anchor::middle);
  if (!y_.title.empty())
    drawing.text({corner.x - widest - 10, corner.y + height / 2}, y_.title, kText, Anchor::middle, 90);
}

Drawing::Point Chart::at(double x, double y) const {
  return {corner_.x + width_ * x_.place(x), corner_.y + height_ * (1 - y_.place(y))};
}

double legend(Drawing& drawing, Drawing::Point corner, double width,
              const std::vector<std::pair<Color, std::string>>& entries) {
  constexpr double kLine = 12, kSquare = 6;
  double x = corner.x, y = corner.y;
  for (const auto& [color, label] : entries) {
    const double length = kSquare + 4 + text_width(label, kSmall) + 12;
    if (x > corner.x && x + length > corner.x + width) x = corner.x, y += kLine;
    drawing.rectangle({x, y}, kSquare, kSquare, color);
    drawing.text({x + kSquare + 4, y + kSquare}, label, kSmall);
    x += length;
  }
  return y + kLine - corner.y;
}

}  // namespace dovetail::explore
