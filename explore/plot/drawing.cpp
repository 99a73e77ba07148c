#include "explore/plot/drawing.h"

#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace dovetail::explore {

namespace {

// Widths of the characters from ' ' to '~' in thousandths of the size (Adobe Font Metrics of Helvetica).
constexpr std::array<int, 95> kWidths{278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
                                      556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
                                      1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                                      667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
                                      333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
                                      556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};
constexpr int kOtherWidth = 556;

// The code points of UTF-8; what is not UTF-8 becomes '?'.
std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80                   ? 1
                               : byte >= 0xc2 && byte < 0xe0 ? 2
                               : byte >= 0xe0 && byte < 0xf0 ? 3
                               : byte >= 0xf0 && byte < 0xf5 ? 4
                                                             : 0;
    std::uint32_t point = length == 1 ? byte : byte & (0xffU >> (length + 1));
    bool valid = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xc0U) == 0x80;
      point = point << 6 | (next & 0x3fU);
    }
    points.push_back(valid ? point : '?');
    i += valid ? length : 1;
  }
  return points;
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) < ' ') out += ' ';
    else out += c;
  }
  return out;
}

// A string of PDF in WinAnsiEncoding, which equals Latin-1 from 0xa0 on.
std::string pdf_string(std::string_view text) {
  std::string out = "(";
  for (const std::uint32_t point : code_points(text)) {
    if (point == '(' || point == ')' || point == '\\') out += '\\';
    if (point == 0x2013 || point == 0x2212) out += "\\226";  // en dash, minus
    else if (point == 0x2192) out += "->";
    else if (point < 0x20 || (point > 0x7e && point < 0xa0) || point > 0xff) out += '?';
    else if (point > 0x7e) out += fmt::format("\\{:03o}", point);
    else out += static_cast<char>(point);
  }
  return out + ")";
}

std::string hex(Color c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }
std::string rgb(Color c) { return fmt::format("{:.3f} {:.3f} {:.3f}", c.red / 255.0, c.green / 255.0, c.blue / 255.0); }

double shift_of(Anchor anchor, double width) {
  return anchor == Anchor::start ? 0 : anchor == Anchor::middle ? -width / 2 : -width;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double sum = 0;
  for (const std::uint32_t point : code_points(text))
    sum += point >= ' ' && point <= '~' ? kWidths[point - ' '] : kOtherWidth;
  return sum * size / 1000;
}

void Drawing::line(std::vector<Point> points, Color color, double thickness) {
  shapes_.push_back({.kind = Kind::line, .points = std::move(points), .width = thickness, .color = color});
}
void Drawing::rectangle(Point corner, double width, double height, Color fill) {
  shapes_.push_back({.kind = Kind::rectangle, .points = {corner}, .width = width, .height = height, .color = fill});
}
void Drawing::circle(Point center, double radius, Color fill) {
  shapes_.push_back({.kind = Kind::circle, .points = {center}, .width = radius, .color = fill});
}
void Drawing::text(Point place, std::string text, double size, Anchor anchor, double angle, Color color) {
  shapes_.push_back({.kind = Kind::text,
                     .points = {place},
                     .width = size,
                     .angle = angle,
                     .anchor = anchor,
                     .color = color,
                     .text = std::move(text)});
}

std::string Drawing::svg(std::string_view title) const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}pt\" height=\"{1:g}pt\" viewBox=\"0 0 {0:g} {1:g}\" "
      "role=\"img\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>{2}</title>\n"
      "<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"#ffffff\"/>\n",
      width_, height_, xml(title));
  constexpr std::array<std::string_view, 3> kAnchors{"start", "middle", "end"};
  for (const Shape& shape : shapes_) {
    const Point& at = shape.points.front();
    switch (shape.kind) {
      case Kind::line:
        out += "<polyline points=\"";
        for (const Point& point : shape.points) out += fmt::format("{:.2f},{:.2f} ", point.x, point.y);
        out += fmt::format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"/>\n", hex(shape.color), shape.width);
        break;
      case Kind::rectangle:
        out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", at.x,
                           at.y, shape.width, shape.height, hex(shape.color));
        break;
      case Kind::circle:
        out += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" fill=\"{}\"/>\n", at.x, at.y, shape.width,
                           hex(shape.color));
        break;
      case Kind::text:
        out += fmt::format(
            "<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{:g}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n", at.x,
            at.y, shape.width, kAnchors[static_cast<std::size_t>(shape.anchor)], hex(shape.color),
            shape.angle == 0 ? "" : fmt::format(" transform=\"rotate({:g} {:.2f} {:.2f})\"", -shape.angle, at.x, at.y),
            xml(shape.text));
        break;
    }
  }
  return out + "</svg>\n";
}

std::string Drawing::pdf(std::string_view title) const {
  std::string page;
  const auto up = [&](double y) { return height_ - y; };  // PDF's origin is the lower left corner
  for (const Shape& shape : shapes_) {
    const Point& at = shape.points.front();
    switch (shape.kind) {
      case Kind::line:
        page += fmt::format("{} RG {:g} w\n", rgb(shape.color), shape.width);
        for (std::size_t i = 0; i < shape.points.size(); ++i)
          page += fmt::format("{:.2f} {:.2f} {}\n", shape.points[i].x, up(shape.points[i].y), i == 0 ? "m" : "l");
        page += "S\n";
        break;
      case Kind::rectangle:
        page += fmt::format("{} rg {:.2f} {:.2f} {:.2f} {:.2f} re f\n", rgb(shape.color), at.x, up(at.y + shape.height),
                            shape.width, shape.height);
        break;
      case Kind::circle: {
        // Four Bézier curves; the factor makes their middles points of the circle.
        const double r = shape.width, k = 0.5522848 * r, x = at.x, y = up(at.y);
        page += fmt::format("{} rg {:.2f} {:.2f} m\n", rgb(shape.color), x + r, y);
        const auto curve = [&](double ax, double ay, double bx, double by, double cx, double cy) {
          page += fmt::format("{:.2f} {:.2f} {:.2f} {:.2f} {:.2f} {:.2f} c\n", x + ax, y + ay, x + bx, y + by, x + cx,
                              y + cy);
        };
        curve(r, k, k, r, 0, r);
        curve(-k, r, -r, k, -r, 0);
        curve(-r, -k, -k, -r, 0, -r);
        curve(k, -r, r, -k, r, 0);
        page += "f\n";
        break;
      }
      case Kind::text: {
        const double angle = shape.angle * std::numbers::pi / 180, c = std::cos(angle), s = std::sin(angle);
        const double shift = shift_of(shape.anchor, text_width(shape.text, shape.width));
        page += fmt::format("BT {} rg /F1 {:g} Tf {:.4f} {:.4f} {:.4f} {:.4f} {:.2f} {:.2f} Tm {} Tj ET\n",
                            rgb(shape.color), shape.width, c, s, -s, c, at.x + shift * c, up(at.y) + shift * s,
                            pdf_string(shape.text));
        break;
      }
    }
  }
  const std::array<std::string, 6> objects{
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      fmt::format(
          "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:g} {:g}] /Contents 4 0 R /Resources << /Font << /F1 5 0 "
          "R >> >> >>",
          width_, height_),
      fmt::format("<< /Length {} >>\nstream\n{}endstream", page.size(), page),
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
      fmt::format("<< /Title {} /Producer (dovetail) >>", pdf_string(title))};
  std::string out = "%PDF-1.4\n";
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    places.push_back(out.size());
    out += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
  }
  const std::size_t table = out.size();
  out += fmt::format("xref\n0 {}\n0000000000 65535 f \n", objects.size() + 1);
  for (const std::size_t place : places) out += fmt::format("{:010} 00000 n \n", place);
  return out + fmt::format("trailer\n<< /Size {} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{}\n%%EOF\n",
                           objects.size() + 1, table);
}

}  // namespace dovetail::explore
