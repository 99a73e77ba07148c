#include "compiler/layout/layout.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "loops/interpreter.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string errors_of(std::string_view text, const Shape& shape) {
  const auto layout = parse_layout(text, shape);
  return layout.ok() ? "" : to_string(layout.errors());
}

NdArray ramp(const Shape& shape) {
  NdArray array(DType::int8, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_int64(i, i % 251 - 125);
  return array;
}

NdArray copied(const NdArray& value, const graph::TensorType& type, const std::string& from, const std::string& to) {
  const loops::Program program = relayout_program(type, from, to);
  const auto verified = loops::verify(program);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  const auto result = loops::evaluate(program, std::vector{value});
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  return result->front();
}

// Layouts of int8[2, 6, 4, 3], plain, mapped, framed and under other shapes.
const Shape kShape{2, 6, 4, 3};
const std::vector<std::string> kLayouts{"",
                                        "i0,i2,i3,i1",
                                        "i0,i1/2,i2,i3,i1%2",
                                        "[2,6,4,3] pad 0+0,0+2,0+0,0+0 = 0 : i0,i1/4,i2,i3,i1%4",
                                        "[2,6,4,3] pad 0+0,0+10,1+1,2+0 = -128 : i0,i1/16,i2,i3,i1%16",
                                        "[2,6,4,3] pad 1+1,0+0,0+0,0+1 = 7 : i3,i2,i1,i0",
                                        "[12,12] pad 0+4,0+4 = 3 : i0/16,i1/16,i0%16,i1%16",
                                        "[144] pad 0+0 = 0 : i0"};

}  // namespace

TEST_CASE("a layout says how many bytes it takes and what it refuses") {
  CHECK(parse_layout("", {2, 3})->plain);
  CHECK(parse_layout("", {})->physical_shape().empty());
  const auto framed = parse_layout("[1,10,4,4] pad 0+0,0+6,1+1,1+1 = -128 : i0,i1/16,i2,i3,i1%16", {1, 10, 4, 4});
  REQUIRE(framed.ok());
  CHECK(framed->framed() == Shape{1, 16, 6, 6});
  CHECK(framed->physical_shape() == Shape{1, 1, 6, 6, 16});
  CHECK(framed->fill == -128);
  CHECK(layout_bytes({DType::int8, {1, 10, 4, 4}},
                     framed_layout(framed->view, framed->pads, framed->fill, "i0,i1/16,i2,i3,i1%16")) == 16 * 36);
  CHECK_THAT(errors_of("[1,10,4,5] pad 0+0,0+0,0+0,0+0 = 0 : i0,i1,i2,i3", {1, 10, 4, 4}),
             ContainsSubstring("the view has more than the 160 elements of [1, 10, 4, 4]"));
  CHECK_THAT(errors_of("[1,10,4] pad 0+0,0+0,0+0 = 0 : i0,i1,i2", {1, 10, 4, 4}),
             ContainsSubstring("the view [1, 10, 4] has 40 elements, [1, 10, 4, 4] has 160"));
  CHECK_THAT(errors_of("[1,10,16] pad 0+0,0+0 = 0 : i0", {1, 10, 4, 4}), ContainsSubstring("expected before+after"));
  CHECK_THAT(errors_of("[160] pad 0+-1 = 0 : i0", {160}), ContainsSubstring("expected before+after"));
  CHECK_THAT(errors_of("[160] pad 0+9999999999 = 0 : i0", {160}), ContainsSubstring("at most 1048576"));
  CHECK_THAT(errors_of("[160] pad 0+0 = : i0", {160}), ContainsSubstring("expected «= value :»"));
  CHECK_THAT(errors_of("[160] pad 0+1 = 0 : i0/2,i0%2", {160}), ContainsSubstring("2 does not divide the extent 161"));
  CHECK_THAT(errors_of("[0] pad 0+0 = 0 : i0", {160}), ContainsSubstring("expected an extent"));
  CHECK_THAT(errors_of("i0", {2, 3}), ContainsSubstring("index map"));
}

TEST_CASE("copies between any two layouts hold the value and the frame") {
  const graph::TensorType type{DType::int8, kShape};
  const NdArray value = ramp(kShape);
  for (const std::string& from : kLayouts)
    for (const std::string& to : kLayouts) {
      CAPTURE(from, to);
      const Layout source = *parse_layout(from, kShape), target = *parse_layout(to, kShape);
      const NdArray packed = pack(value, source);
      CHECK(packed.shape() == source.physical_shape());
      CHECK(unpack(packed, source) == value);
      CHECK(copied(packed, type, from, to) == pack(value, target));
    }
}

TEST_CASE("random layouts: pack, copy and unpack agree") {
  const auto seed = GENERATE(range(1u, 120u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto any = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(bound));
  };
  Shape shape;
  for (std::int64_t d = any(4) + 1; d > 0; --d) shape.push_back(any(5) + 1);
  const auto layout = [&] {
    Shape view = shape;
    if (any(3) == 0) view = {element_count(shape)};
    std::vector<Layout::Pad> pads;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < view.size(); ++d) {
      const std::int64_t block = std::int64_t{1} << any(3), before = any(3);
      std::int64_t after = any(3);
      while ((view[d] + before + after) % block != 0) ++after;
      pads.push_back({before, after});
      parts.push_back(fmt::format("i{}/{}", d, block));
      parts.push_back(fmt::format("i{}%{}", d, block));
    }
    std::shuffle(parts.begin(), parts.end(), random);
    std::string map;
    for (const std::string& part : parts) map += (map.empty() ? "" : ",") + part;
    return framed_layout(view, pads, any(256) - 128, map);
  };
  const std::string from = layout(), to = layout();
  CAPTURE(from, to);
  const NdArray value = ramp(shape);
  const NdArray packed = pack(value, *parse_layout(from, shape));
  CHECK(copied(packed, {DType::int8, shape}, from, to) == pack(value, *parse_layout(to, shape)));
  CHECK(copied(packed, {DType::int8, shape}, from, "") == value);
}
