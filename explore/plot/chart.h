// Axes, ticks, legends and bars on a drawing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "explore/plot/drawing.h"

namespace dovetail::explore {

// A scale of values, whose ends are ticks.
struct Scale {
  std::string title;
  double least = 0, most = 1;
  bool logarithmic = false;

  // The scale for these values: logarithmic if they are positive and span more than a factor of eight; else from 0 if
  // `from_zero`. Precondition: values are finite.
  static Scale of(std::string title, const std::vector<double>& values, bool from_zero = false);
  double place(double value) const;  // 0 for the least, 1 for the most
  std::vector<double> ticks() const;
};
std::string tick_text(double value);  // "0.5", "20", "3 k", "1.5 M"

// A plot area with a frame, grid, ticks and titles.
class Chart {
 public:
  Chart(Drawing& drawing, Drawing::Point corner, double width, double height, Scale x, Scale y);
  Drawing::Point at(double x, double y) const;

 private:
  Drawing::Point corner_;
  double width_, height_;
  Scale x_, y_;
};

// Entries from left to right, in lines as long as `width`. Returns the height.
double legend(Drawing& drawing, Drawing::Point corner, double width,
              const std::vector<std::pair<Color, std::string>>& entries);

}  // namespace dovetail::explore
