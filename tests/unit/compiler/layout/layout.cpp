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

// Layouts of int8[2, 6, 4, 3]: plain, mapped, framed, and with other view shapes.
const Shape kShape{2, 6, 4, 3};
const std::vector<std::string> kLayouts{
    "", "i0,i2,i3,i1", "i0,i1/2,i2,i3,i1%2", "[2,6,4,3] pad 0+0,0+2,0+0,0+0 = 0 : i0,i1/4,i2,i3,i1%4",
    "[2,6,4,3] pad 0+0,0+10,1+1,2+0 = -128 : i0,i1/16,i2,i3,i1%16", "[2,6,4,3] pad 1+1,0+0,0+0,0+1 = 7 : i3,i2,i1,i0",
    "[12,12] pad 0+4,0+4 = 3 : i0/16,i1/16,i0%16,i1%16", "[144] pad 0+0 = 0 : i0",
    // Folds that only rearrange: space to depth.
    "[2,6,4,3] fold i3 into i1 taps 3 windows 1 stride 3 dilation 1 before 0 "
    "fold i2 into i1 taps 2 windows 2 stride 2 dilation 1 before 0 "
    "pad 0+0,0+12,1+0,0+1 = 9 : i0,i1/16,i2,i3,i1%16",
    "[2,6,4,3] fold i2 into i1 taps 2 windows 2 stride 2 dilation 1 before 0 within "
    "fold i3 into i1 taps 3 windows 1 stride 3 dilation 1 before 0 within "
    "pad 0+0,0+12,0+1,1+0 = -9 : i0,i1/16,i2,i3,i1%16",
    "[12,12] fold i0 into i1 taps 4 windows 3 stride 4 dilation 1 before 0 "
    "pad 0+0,0+0 = 0 : i1,i0"};

// Folds with and without overlap, with gaps, and beyond the view; two consecutive folds.
const std::vector<std::string> kFolded{
    "[2,6,4,3] fold i3 into i1 taps 2 windows 2 stride 1 dilation 1 before 0 pad 0+0,0+0,0+0,0+0 = 0 : i0,i1,i2,i3",
    "[2,6,4,3] fold i2 into i1 taps 3 windows 2 stride 3 dilation 2 before 1 pad 0+0,1+3,0+1,0+0 = -7 : "
    "i0,i1/2,i2,i3,i1%2",
    "[2,6,4,3] fold i3 into i1 taps 3 windows 3 stride 1 dilation 1 before 1 "
    "fold i2 into i1 taps 2 windows 1 stride 4 dilation 1 before 0 pad 0+0,0+12,0+0,0+0 = 5 : i0,i1/16,i2,i3,i1%16",
    // All taps inside the view, and a frame beyond the last tap and before the first.
    "[2,6,4,3] fold i2 into i1 taps 3 windows 2 stride 1 dilation 1 before 0 pad 0+0,0+14,0+0,0+0 = 5 : "
    "i0,i1/16,i2,i3,i1%16",
    "[2,6,4,3] fold i2 into i1 taps 2 windows 2 stride 2 dilation 1 before 0 pad 0+0,3+1,0+0,0+0 = 5 : "
    "i0,i1/4,i2,i3,i1%4",
    "[2,6,4,3] fold i3 into i1 taps 3 windows 3 stride 1 dilation 1 before 1 within "
    "pad 0+0,1+13,0+0,0+0 = 5 : i0,i1/16,i2,i3,i1%16",
    "[12,12] fold i0 into i1 taps 2 windows 5 stride 2 dilation 3 before 0 pad 0+0,0+0 = 1 : i1,i0"};

}  // namespace

TEST_CASE("a layout states its size in bytes, and invalid layouts are refused") {
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
             ContainsSubstring("the view may have at most the 160 elements of [1, 10, 4, 4]"));
  CHECK_THAT(errors_of("[1,10,4] pad 0+0,0+0,0+0 = 0 : i0,i1,i2", {1, 10, 4, 4}),
             ContainsSubstring("the view [1, 10, 4] has 40 elements, but [1, 10, 4, 4] has 160"));
  CHECK_THAT(errors_of("[1,10,16] pad 0+0,0+0 = 0 : i0", {1, 10, 4, 4}), ContainsSubstring("expected before+after"));
  CHECK_THAT(errors_of("[160] pad 0+-1 = 0 : i0", {160}), ContainsSubstring("expected before+after"));
  CHECK_THAT(errors_of("[160] pad 0+9999999999 = 0 : i0", {160}), ContainsSubstring("at most 1048576"));
  CHECK_THAT(errors_of("[160] pad 0+0 = : i0", {160}), ContainsSubstring("expected «= value :»"));
  CHECK_THAT(errors_of("[160] pad 0+1 = 0 : i0/2,i0%2", {160}), ContainsSubstring("2 does not divide the extent 161"));
  CHECK_THAT(errors_of("[0] pad 0+0 = 0 : i0", {160}), ContainsSubstring("expected an extent"));
  CHECK_THAT(errors_of("i0", {2, 3}), ContainsSubstring("index map"));
}

TEST_CASE("copies between any two layouts contain the value and the frame") {
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

TEST_CASE("a fold stores the windows of one dimension side by side in another") {
  const Shape shape{1, 2, 1, 5};
  const Layout folded = *parse_layout(
      "[1,2,1,5] fold i3 into i1 taps 3 windows 2 stride 2 dilation 2 before 1 pad 0+0,0+1,0+0,0+0 = 9 : i0,i1,i2,i3",
      shape);
  CHECK(folded.folded() == Shape{1, 6, 1, 2});
  CHECK(folded.physical_shape() == Shape{1, 7, 1, 2});
  NdArray value(DType::int8, shape);
  for (std::int64_t i = 0; i < 10; ++i) value.set_int64(i, i < 5 ? i : 15 + i);  // 0 to 4, 20 to 24
  // Tap by tap, both channels: columns -1, 1 and 3 for the first window, 1, 3 and 5 for the second.
  const NdArray packed = pack(value, folded);
  std::vector<int> got;
  for (const std::int8_t element : packed.data<std::int8_t>()) got.push_back(element);
  CHECK(got == std::vector<int>{9, 1, 9, 21, 1, 3, 21, 23, 3, 9, 23, 9, 9, 9});

  CHECK_THAT(errors_of("[1,2,1,5] fold i1 into i1 taps 1 windows 1 stride 1 dilation 1 before 0 pad = 0 : i0", shape),
             ContainsSubstring("expected «iA into iB», two of 4 dimensions, at «taps"));
  CHECK_THAT(errors_of("[1,2,1,5] fold i3 into i4 taps", shape), ContainsSubstring("two of 4 dimensions"));
  CHECK_THAT(errors_of("[1,2,1,5] fold i3 into i1 taps 0 windows 1", shape),
             ContainsSubstring("expected «taps» and a number from 1 to 1048576"));
  CHECK_THAT(errors_of("[1,2,1,5] fold i3 into i1 taps 1 windows 2 before", shape),
             ContainsSubstring("expected «stride»"));
  CHECK_THAT(errors_of("[1,2,1,5] fold i3 into i1 taps 1000000 windows 1 stride 1 dilation 1 before 0 pad", shape),
             ContainsSubstring("dimension 1 has 2000000 elements with its folds, but may have at most 1048576"));
}

TEST_CASE("copies into folded layouts contain the elements that the folds define") {
  const graph::TensorType type{DType::int8, kShape};
  const NdArray value = ramp(kShape);
  for (const std::string& from : kLayouts)
    for (const std::string& to : kFolded) {
      CAPTURE(from, to);
      const NdArray packed = pack(value, *parse_layout(from, kShape));
      CHECK(copied(packed, type, from, to) == pack(value, *parse_layout(to, kShape)));
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
  const auto layout = [&](bool with_folds) {
    Shape view = shape;
    if (any(3) == 0) view = {element_count(shape)};
    Layout folded;
    folded.view = view;
    for (std::int64_t left = with_folds && view.size() > 1 ? any(3) : 0; left > 0; --left) {
      const auto dimension = static_cast<std::size_t>(any(static_cast<std::int64_t>(view.size())));
      const auto into = (dimension + 1) % view.size();
      folded.folds.push_back({dimension, into, any(3) + 1, any(4) + 1, any(3) + 1, any(3) + 1, any(3)});
    }
    std::vector<Layout::Pad> pads;
    std::vector<std::string> parts;
    for (std::size_t d = 0; d < view.size(); ++d) {
      const std::int64_t block = std::int64_t{1} << any(3), before = any(3);
      std::int64_t after = any(3);
      while ((folded.folded()[d] + before + after) % block != 0) ++after;
      pads.push_back({before, after});
      parts.push_back(fmt::format("i{}/{}", d, block));
      parts.push_back(fmt::format("i{}%{}", d, block));
    }
    std::shuffle(parts.begin(), parts.end(), random);
    std::string map;
    for (const std::string& part : parts) map += (map.empty() ? "" : ",") + part;
    return framed_layout(view, pads, any(256) - 128, map, folded.folds);
  };
  const std::string from = layout(false), to = layout(true);
  CAPTURE(from, to);
  const NdArray value = ramp(shape);
  const NdArray packed = pack(value, *parse_layout(from, shape));
  CHECK(copied(packed, {DType::int8, shape}, from, to) == pack(value, *parse_layout(to, shape)));
  CHECK(copied(packed, {DType::int8, shape}, from, "") == value);
}
