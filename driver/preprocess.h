// From pictures to the input of a model, as a JSON file says it (docs/howto/own-data.md). The model carries it in its
// metadata, a bundle in its report, so that anyone who runs either does the same to pictures as calibration did.
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

// The key of a model's metadata and of a bundle's report.
inline constexpr const char* kPreprocessKey = "dovetail.preprocess";

enum class Channels { rgb, bgr, gray };
enum class ImageLayout { nchw, nhwc };
enum class Filter { bilinear, nearest };

// In this order: resize, crop, order of channels, x = (pixel * scale - mean) / deviation, layout.
struct Preprocess {
  std::optional<std::int64_t> shorter_side;  // resize: to this, proportions kept
  std::optional<Shape> size;                 // or to [height, width]
  Filter filter = Filter::bilinear;
  bool antialias = true;      // of bilinear: each pixel is a mean over all that it replaces
  std::optional<Shape> crop;  // the middle [height, width]
  Channels channels = Channels::rgb;
  ImageLayout layout = ImageLayout::nchw;
  double scale = 1;
  std::vector<double> mean{0}, deviation{1};  // one number, or one for each channel
  std::string input;                          // of the model; empty: the only one

  // Errors, all of them: keys that are unknown, missing or of another kind. `where` names the source.
  static Result<Preprocess> parse(const Json& json, const std::string& where);
  static Result<Preprocess> read(const std::string& file);
  Json to_json() const;

  // The picture as one row of an input of that type and shape, [1, ...]. Error: another size comes out.
  Result<NdArray> apply(const Image& image, DType dtype, const Shape& shape, const std::string& where) const;
};

// Resized by the filter, like Pillow's and torchvision's resize where `antialias` is on, like OpenCV's and TensorFlow's
// where it is off.
Image resized(const Image& image, std::int64_t height, std::int64_t width, Filter filter, bool antialias);

// What the report of a bundle or the metadata of a model says; nothing where it says nothing.
Result<std::optional<Preprocess>> preprocess_of(const bundle::Bundle& bundle);
Result<std::optional<Preprocess>> preprocess_of(const std::map<std::string, std::string>& metadata,
                                                const std::string& where);

}  // namespace dovetail::driver
