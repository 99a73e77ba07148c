// Preprocesses pictures for the input of a model, as a JSON file defines (docs/howto/own-data.md). The model stores it
// in its metadata and a bundle in its report, so that each run treats pictures like the calibration did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "bundle/bundle.h"
#include "driver/image.h"

namespace dovetail::driver {

// The key in a model's metadata and in a bundle's report.
inline constexpr const char* kPreprocessKey = "dovetail.preprocess";

enum class Channels { rgb, bgr, gray };
enum class ImageLayout { nchw, nhwc };
enum class Filter { bilinear, nearest };

// The steps, in this order: resize, crop, order of channels, x = (pixel * scale - mean) / deviation, layout.
struct Preprocess {
  std::optional<std::int64_t> shorter_side;  // resize the shorter side to this, keeping proportions
  std::optional<Shape> size;                 // or resize to [height, width]
  Filter filter = Filter::bilinear;
  bool antialias = true;      // with bilinear: each pixel is a weighted mean of all pixels that it replaces
  std::optional<Shape> crop;  // the middle [height, width]
  Channels channels = Channels::rgb;
  ImageLayout layout = ImageLayout::nchw;
  double scale = 1;
  std::vector<double> mean{0}, deviation{1};  // one number, or one for each channel
  std::string input;                          // name of the model's input; empty: the only input

  // Reports all errors: keys that are unknown, missing or have the wrong type. `where` names the source.
  static Result<Preprocess> parse(const Json& json, const std::string& where);
  static Result<Preprocess> read(const std::string& file);
  Json to_json() const;

  // The picture as one row of an input of that type and shape, [1, ...]. Error: the result has another shape.
  Result<NdArray> apply(const Image& image, DType dtype, const Shape& shape, const std::string& where) const;
};

// Resizes with the filter: with `antialias` like Pillow and torchvision, without it like OpenCV and TensorFlow.
Image resized(const Image& image, std::int64_t height, std::int64_t width, Filter filter, bool antialias);

// The preprocessing in a bundle's report or a model's metadata; nullopt if there is none.
Result<std::optional<Preprocess>> preprocess_of(const bundle::Bundle& bundle);
Result<std::optional<Preprocess>> preprocess_of(const std::map<std::string, std::string>& metadata,
                                                const std::string& where);

}  // namespace dovetail::driver
