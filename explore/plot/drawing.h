// A drawing of lines, bars and text, written as SVG and as PDF for papers. Both are a function of the drawing alone: no
// fonts or libraries of the machine, equal bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::explore {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};
// The palette of Okabe and Ito (Color Universal Design, 2008), which people with any color vision distinguish.
inline constexpr Color kBlack{0, 0, 0}, kGray{110, 110, 110}, kLightGray{221, 221, 221}, kBlue{0, 114, 178},
    kOrange{230, 159, 0}, kGreen{0, 158, 115}, kVermilion{213, 94, 0}, kSkyBlue{86, 180, 233}, kPurple{204, 121, 167},
    kYellow{240, 228, 66};
inline constexpr Color kPalette[] = {kBlue, kOrange, kGreen, kVermilion, kSkyBlue, kPurple, kYellow, kGray};

enum class Anchor : std::uint8_t { start, middle, end };

// Coordinates are in points of 1/72 inch, from the upper left corner.
class Drawing {
 public:
  Drawing(double width, double height) : width_(width), height_(height) {}

  struct Point {
    double x = 0, y = 0;
  };
  void line(std::vector<Point> points, Color color, double thickness = 0.75);
  void rectangle(Point corner, double width, double height, Color fill);
  void circle(Point center, double radius, Color fill);
  // `angle`: degrees counterclockwise, around the text's place. Text is UTF-8, of the characters of Windows-1252.
  void text(Point place, std::string text, double size, Anchor anchor = Anchor::start, double angle = 0,
            Color color = kBlack);

  // `title`: the alternative text of the picture.
  std::string svg(std::string_view title) const;
  std::string pdf(std::string_view title) const;

 private:
  enum class Kind : std::uint8_t { line, rectangle, circle, text };
  struct Shape {
    Kind kind = Kind::line;
    std::vector<Point> points = {};  // the line's; else one
    double width = 0, height = 0;    // of a rectangle; the radius, the size or the thickness is `width`
    double angle = 0;
    Anchor anchor = Anchor::start;
    Color color = {};
    std::string text = {};
  };
  double width_, height_;
  std::vector<Shape> shapes_;
};

// The width of a text in Helvetica.
double text_width(std::string_view text, double size);

}  // namespace dovetail::explore
