// Drawings as SVG and PDF, and scales.
#include "explore/plot/drawing.h"

#include <charconv>
#include <string>

#include "explore/plot/chart.h"
#include "tests/catch.h"

namespace dovetail::explore {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("drawing: text is escaped in SVG and PDF") {
  Drawing drawing(100, 50);
  drawing.text({10, 20}, "a<b & \"c\" (d\\) mm\xc2\xb2 \xe2\x86\x92", 8, Anchor::end, 90, kBlue);
  CHECK_THAT(drawing.svg("t<"), ContainsSubstring(">a&lt;b &amp; &quot;c&quot; (d\\) mm\xc2\xb2 \xe2\x86\x92</text>") &&
                                    ContainsSubstring("<title>t&lt;</title>") &&
                                    ContainsSubstring("text-anchor=\"end\" fill=\"#0072b2\"") &&
                                    ContainsSubstring("rotate(-90 10.00 20.00)"));
  CHECK_THAT(drawing.pdf("t"), ContainsSubstring("(a<b & \"c\" \\(d\\\\\\) mm\\262 ->) Tj"));
}

TEST_CASE("drawing: the objects of a PDF are where its table says") {
  Drawing drawing(100, 50);
  drawing.line({{0, 0}, {5, 5}, {10, 0}}, kBlack);
  drawing.circle({50, 25}, 3, kOrange);
  drawing.rectangle({1, 2}, 3, 4, kGreen);
  const std::string pdf = drawing.pdf("title");
  // The origin of PDF is below: y = 50 - 2 - 4.
  CHECK_THAT(pdf, ContainsSubstring("1.00 44.00 3.00 4.00 re f"));
  const std::size_t start = pdf.find("startxref\n") + 10;
  std::size_t table = 0;
  std::from_chars(pdf.data() + start, pdf.data() + pdf.size(), table);
  REQUIRE(pdf.substr(table, 9) == "xref\n0 7\n");
  for (std::size_t object = 1; object < 7; ++object) {
    std::size_t place = 0;
    const std::string entry = pdf.substr(table + 9 + 20 * object, 20);
    std::from_chars(entry.data(), entry.data() + 10, place);
    CHECK(pdf.substr(place, 7) == std::to_string(object) + " 0 obj");
  }
  const std::size_t stream = pdf.find("stream\n") + 7, length = pdf.find("endstream") - stream;
  CHECK_THAT(pdf, ContainsSubstring("/Length " + std::to_string(length) + " "));
}

TEST_CASE("drawing: text is as wide as in Helvetica") {
  CHECK(text_width("", 10) == 0);
  CHECK(text_width("i W", 10) == Approx(2.22 + 2.78 + 9.44));
  CHECK(text_width("~@", 1000) == Approx(584 + 1015));
}

TEST_CASE("chart: scales end at ticks that contain the values") {
  const Scale linear = Scale::of("x", {3.2, 7.9});
  CHECK((linear.least == 3 && linear.most == 8 && !linear.logarithmic));
  CHECK(linear.ticks() == std::vector<double>{3, 4, 5, 6, 7, 8});
  CHECK(Scale::of("x", {3, 9}, true).least == 0);
  const Scale wide = Scale::of("x", {3, 400});
  CHECK((wide.logarithmic && wide.least == 2 && wide.most == 500));
  CHECK(wide.place(2) == 0);
  CHECK(wide.place(500) == Approx(1));
  CHECK(wide.ticks() == std::vector<double>{2, 5, 10, 20, 50, 100, 200, 500});
  for (const std::vector<double>& values : {std::vector<double>{5, 5}, {0, 0}, {-3, 4}, {1e-9, 1}, {1e12, 3e12}}) {
    const Scale scale = Scale::of("x", values);
    for (const double value : values) CHECK((scale.place(value) > -1e-9 && scale.place(value) < 1 + 1e-9));
    CHECK(scale.ticks().size() >= 2);
    CHECK(scale.ticks().size() < 30);
  }
  CHECK(tick_text(2e6) == "2 M");
  CHECK(tick_text(0.25) == "0.25");
}

}  // namespace dovetail::explore
