// From pictures to inputs.
#include "driver/preprocess.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "driver/image.h"
#include "driver/sample_files.h"
#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace dovetail::driver {
namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

Image gray(std::int64_t height, std::int64_t width, const std::vector<std::uint8_t>& values) {
  Image image{width, height, {}};
  for (const std::uint8_t value : values) image.pixels.insert(image.pixels.end(), 3, value);
  return image;
}

std::vector<int> reds(const Image& image) {
  std::vector<int> values;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) values.push_back(image.pixels[i]);
  return values;
}

Preprocess parsed(const std::string& text) {
  auto result = Preprocess::parse(parse_json(text, "test").value(), "test");
  if (!result) FAIL(to_string(result.errors()));
  return *std::move(result);
}

bundle::Bundle model(const Shape& shape) {
  bundle::Bundle bundle;
  bundle.name = "m";
  bundle.tensors.push_back({"x", DType::float32, shape});
  bundle.inputs = {0};
  return bundle;
}

}  // namespace

TEST_CASE("image: PPM and PGM, comments, and damaged files") {
  const auto image = decode_image(bytes_of(std::string_view("P6 # two by one\n2 1\n255\nabcdef")), "x.ppm");
  REQUIRE(image.ok());
  CHECK(image->width == 2);
  CHECK(image->at(0, 1, 2) == 'f');
  const auto one = decode_image(bytes_of("P5\n1 2 255\nAB"), "x.pgm");
  REQUIRE(one.ok());
  CHECK(one->at(1, 0, 0) == 'B');
  CHECK(one->at(1, 0, 2) == 'B');
  for (const char* bad :
       {"P5\n2 2 255\nAB", "P5\n2", "P5\n0 2 255\n", "P5\n1 1 65535\nAB", "P5\n99999999 99999999 255\n", "GIF89a",
        "\x89PNG\r\n\x1a\nnothing", "\xff\xd8\xff nothing"}) {
    INFO(bad);
    CHECK_FALSE(decode_image(bytes_of(bad), "bad").ok());
  }
  CHECK(is_image(bytes_of("P5\n")));
  CHECK_FALSE(is_image(bytes_of("\x93NUMPY")));
}

// Written by Pillow. PNG: [[red, green], [blue, (10, 20, 30)]]; in JPEG, 8x8 of (200, 100, 50), and 8x8 gray.
TEST_CASE("image: PNG in its color types, JPEG in color and gray") {
  const auto decoded = [](std::string_view hex) {
    std::string file;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      file += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return decode_image(bytes_of(file), "picture");
  };
  const auto not_built = [](const Result<Image>& image) {
    return !image.ok() && to_string(image.errors()).find("this kit was built without") != std::string::npos;
  };
  for (const char* png :
       {"89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a73000000164944415478da63f8cfc0c0f09f818181e13f"
        "97"
        "881c001a58033a803ce3640000000049454e44ae426082",
        // A palette.
        "89504e470d0a1a0a0000000d49484452000000020000000202030000000fd8e5b70000000c504c544500ff000a141eff00000000ffbc2a"
        "b2a10000000c4944415478da636860b80000025401515fdb824d0000000049454e44ae426082",
        // With alpha 255, 128, 0, 255: alpha is dropped.
        "89504e470d0a1a0a0000000d494844520000000200000002080600000072b60d240000001a4944415478da63f8cfc0f09fe13f43030303"
        "c37f062e11b9ff00378005b8a0baca200000000049454e44ae426082"}) {
    const auto image = decoded(png);
    if (not_built(image)) return test::skip("no libpng");
    if (!image) FAIL(to_string(image.errors()));
    CHECK(image->pixels == std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30});
  }
  const auto near = [](int value, int expected) { return std::abs(value - expected) <= 2; };
  const auto color = decoded(
      "ffd8ffe000104a46494600010100000100010000ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b"
      "0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffdb00430103040405040509050509140d0b0d14141414"
      "14141414141414141414141414141414141414141414141414141414141414141414141414141414141414141414ffc00011080008000803"
      "011100021101031101ffc40014000100000000000000000000000000000004ffc40014100100000000000000000000000000000000ffc400"
      "1501010100000000000000000000000000000708ffc40014110100000000000000000000000000000000ffda000c03010002110311003f00"
      "203d483fffd9");
  if (not_built(color)) return test::skip("no libjpeg");
  if (!color) FAIL(to_string(color.errors()));
  CHECK((color->width == 8 && color->height == 8));
  CHECK((near(color->at(3, 4, 0), 200) && near(color->at(3, 4, 1), 100) && near(color->at(3, 4, 2), 50)));
  const auto gray = decoded(
      "ffd8ffe000104a46494600010100000100010000ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b"
      "0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffc0000b080008000801011100ffc40014000100000000"
      "000000000000000000000006ffc40018100002030000000000000000000000000000084684c3ffda0008010100003f0076a54aaa6c7fffd"
      "9");
  if (!gray) FAIL(to_string(gray.errors()));
  for (int channel = 0; channel < 3; ++channel) {
    CHECK(near(gray->at(7, 1, channel), 100));
    CHECK(near(gray->at(0, 6, channel), 200));
  }
}

// The results of Pillow's resize, `Image.fromarray(a).resize((w, h), Image.BILINEAR)`, by its definition.
TEST_CASE("image: resizing with and without antialiasing, and to the nearest") {
  const Image row = gray(1, 8, {0, 10, 20, 30, 40, 50, 60, 255});
  CHECK(reds(resized(row, 1, 2, Filter::bilinear, true)) == std::vector<int>{19, 84});
  CHECK(reds(resized(row, 1, 2, Filter::bilinear, false)) == std::vector<int>{15, 55});
  CHECK(reds(resized(row, 1, 4, Filter::nearest, true)) == std::vector<int>{10, 30, 50, 255});
  const Image small = gray(2, 2, {0, 100, 100, 200});
  CHECK(reds(resized(small, 4, 4, Filter::bilinear, true)) ==
        std::vector<int>{0, 25, 75, 100, 25, 50, 100, 125, 75, 100, 150, 175, 100, 125, 175, 200});
  CHECK(reds(resized(small, 4, 4, Filter::bilinear, true)) == reds(resized(small, 4, 4, Filter::bilinear, false)));
}

TEST_CASE("preprocess: order of channels, layout, mean, deviation, crop") {
  Image image{4, 2, {}};
  for (int i = 0; i < 24; ++i) image.pixels.push_back(static_cast<std::uint8_t>(i));
  const Preprocess planes = parsed(
      R"({"crop": [2, 2], "channels": "BGR", "layout": "NCHW", "scale": 0.5, "mean": [1, 0, 0], "deviation": [1, 2, 4]})");
  const auto first = planes.apply(image, DType::float32, {1, 3, 2, 2}, "i");
  REQUIRE(first.ok());
  // Blue of the middle pixels, 5 8 17 20, halved, minus 1; green 4 7 16 19; red 3 6 15 18.
  CHECK(*first == NdArray::from<float>({1, 3, 2, 2}, {1.5, 3, 7.5, 9, 1, 1.75, 4, 4.75, .375, .75, 1.875, 2.25}));
  const Preprocess pixels = parsed(R"({"channels": "RGB", "layout": "NHWC", "scale": 1, "mean": 128})");
  const auto second = pixels.apply(image, DType::int8, {1, 2, 4, 3}, "i");
  REQUIRE(second.ok());
  CHECK(second->as_int64(0) == -128);
  CHECK(second->as_int64(23) == -105);
  const Preprocess luma = parsed(R"({"channels": "GRAY", "layout": "NCHW", "scale": 1, "resize": [1, 1]})");
  CHECK(luma.apply(gray(2, 2, {8, 8, 8, 8}), DType::float32, {1, 1, 1, 1}, "i")->as_double(0) == 8);
  const auto wrong = pixels.apply(image, DType::float32, {1, 3, 2, 4}, "i");
  REQUIRE_FALSE(wrong.ok());
  CHECK_THAT(wrong.errors()[0].why, ContainsSubstring("[1, 2, 4, 3]") && ContainsSubstring("[1, 3, 2, 4]"));
  const Preprocess side = parsed(R"({"resize": 4, "crop": [4, 4], "channels": "RGB", "layout": "NHWC", "scale": 1})");
  CHECK(side.apply(image, DType::float32, {1, 4, 4, 3}, "i").ok());
}

TEST_CASE("preprocess: text and back, and all errors at once") {
  const Preprocess one = parsed(R"({"resize": [8, 9], "filter": "nearest", "channels": "RGB", "layout": "NHWC",
                                    "scale": 0.1, "mean": [1, 2, 3], "input": "x"})");
  CHECK(Preprocess::parse(one.to_json(), "again")->to_json() == one.to_json());
  const auto bad = Preprocess::parse(
      parse_json(R"({"channels": "RBG", "mean": [1, 2], "deviation": 0, "resize": "big", "center": 1})", "t").value(),
      "f.json");
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.errors().size() == 7);
  const std::string text = to_string(bad.errors());
  for (const char* key :
       {"\"channels\"", "\"layout\"", "\"scale\"", "\"mean\"", "\"deviation\"", "\"resize\"", "\"center\""})
    CHECK_THAT(text, ContainsSubstring(key));
  CHECK_FALSE(Preprocess::parse(parse_json("[1]", "t").value(), "f.json").ok());
}

TEST_CASE("samples: folders of pictures and arrays, in the order of their names") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::string_view text) {
    REQUIRE(write_text_file(folder / name, text).ok());
  };
  write("pictures/b.pgm", "P5\n2 1 255\nAB");
  write("pictures/a.pgm", "P5\n2 1 255\nCD");
  write("pictures/.hidden", "no sample");
  const bundle::Bundle bundle = model({1, 1, 1, 2});
  const auto refused = read_samples("--samples", folder / "pictures", bundle, std::nullopt);
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(to_string(refused.errors()), ContainsSubstring("a.pgm") && ContainsSubstring("--preprocess"));
  const Preprocess plain = parsed(R"({"channels": "GRAY", "layout": "NCHW", "scale": 1})");
  const auto pictures = read_samples("--samples", folder / "pictures", bundle, plain);
  REQUIRE(pictures.ok());
  CHECK(pictures->at("x") == NdArray::from<float>({2, 1, 1, 2}, {67, 68, 65, 66}));
  REQUIRE(write_npy(folder / "arrays/1.npy", NdArray::from<float>({1, 1, 2}, {1, 2})).ok());
  REQUIRE(write_npy(folder / "arrays/2.npy", NdArray::from<float>({2, 1, 1, 2}, {3, 4, 5, 6})).ok());
  const auto arrays = read_samples("--samples", folder / "arrays", bundle, std::nullopt);
  REQUIRE(arrays.ok());
  CHECK(arrays->at("x") == NdArray::from<float>({3, 1, 1, 2}, {1, 2, 3, 4, 5, 6}));
  REQUIRE(write_npz(folder / "named/1.npz", {{"x", NdArray::from<float>({1, 1, 1, 2}, {1, 2})}}).ok());
  REQUIRE(write_npz(folder / "named/2.npz", {{"x", NdArray::from<float>({1, 1, 1, 2}, {3, 4})}}).ok());
  CHECK(read_samples("--samples", folder / "named", bundle, std::nullopt)->at("x").shape() == Shape{2, 1, 1, 2});
  CHECK_FALSE(read_samples("--samples", folder / "nothing", bundle, std::nullopt).ok());
  REQUIRE(write_npy(folder / "arrays/3.npy", NdArray::from<float>({3}, {1, 2, 3})).ok());
  CHECK_THAT(to_string(read_samples("--samples", folder / "arrays", bundle, std::nullopt).errors()),
             ContainsSubstring("3.npy"));
}

}  // namespace dovetail::driver
