#include "driver/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/dtype.h"
#include "driver/value_text.h"

namespace dovetail::driver {

namespace {

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};
constexpr std::array<Named<Channels>, 3> kChannels{
    {{"RGB", Channels::rgb}, {"BGR", Channels::bgr}, {"GRAY", Channels::gray}}};
constexpr std::array<Named<ImageLayout>, 2> kLayouts{{{"NCHW", ImageLayout::nchw}, {"NHWC", ImageLayout::nhwc}}};
constexpr std::array<Named<Filter>, 2> kFilters{{{"bilinear", Filter::bilinear}, {"nearest", Filter::nearest}}};

template <typename Value, std::size_t N>
std::string_view name_of(const std::array<Named<Value>, N>& names, Value value) {
  return std::ranges::find_if(names, [&](const auto& row) { return row.value == value; })->name;
}

// Reads members, and collects errors about their values and about unknown members.
class Reader {
 public:
  Reader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  const Json* find(const char* key, bool required = false) {
    known_.emplace_back(key);
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    if (required) refuse(key, "the key is missing", fmt::format("the required keys are channels, layout and scale"));
    return nullptr;
  }
  void refuse(std::string_view key, std::string why, std::string hint) {
    errors_.push_back(
        {"cannot use the preprocessing", fmt::format("{}, \"{}\"", where_, key), std::move(why), std::move(hint)});
  }
  template <typename Value, std::size_t N>
  void choice(const char* key, const std::array<Named<Value>, N>& names, Value& value, bool required) {
    const Json* found = find(key, required);
    if (found == nullptr) return;
    for (const auto& row : names)
      if (*found == row.name) {
        value = row.value;
        return;
      }
    std::string all;
    for (const auto& row : names) all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", row.name);
    refuse(key, fmt::format("the value is {}", found->dump()), "write one of " + all);
  }
  // [height, width]
  std::optional<Shape> size(const char* key, const Json& found) {
    if (found.is_array() && found.size() == 2 && extent(found[0]) && extent(found[1]))
      return Shape{*extent(found[0]), *extent(found[1])};
    refuse(key, fmt::format("the value is {}", found.dump()), "give [height, width], each from 1 to 65536");
    return std::nullopt;
  }
  static std::optional<std::int64_t> extent(const Json& found) {
    constexpr std::int64_t kMost = 65536;
    if (!found.is_number_integer()) return std::nullopt;
    const auto number = found.get<std::int64_t>();
    return number >= 1 && number <= kMost ? std::optional(number) : std::nullopt;
  }
  // A number, or one for each channel.
  void numbers(const char* key, std::size_t channels, bool zero_allowed, std::vector<double>& values) {
    const Json* found = find(key);
    if (found == nullptr) return;
    std::vector<double> read;
    const auto take = [&](const Json& number) {
      if (number.is_number() && std::isfinite(number.get<double>()) && (zero_allowed || number.get<double>() != 0))
        read.push_back(number.get<double>());
    };
    if (found->is_array())
      for (const Json& number : *found) take(number);
    else take(*found);
    if (read.size() == (found->is_array() ? found->size() : 1) && (!found->is_array() || read.size() == channels))
      values = std::move(read);
    else
      refuse(key, fmt::format("the value is {}", found->dump()),
             fmt::format("give a number{}, or an array of {} numbers", zero_allowed ? "" : " other than 0", channels));
  }

  Diagnostics finish() {
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(known_, key) == known_.end())
        refuse(key, "the key is unknown", fmt::format("the keys are {}", fmt::join(known_, ", ")));
    return std::move(errors_);
  }

 private:
  const Json& json_;
  const std::string where_;
  std::vector<std::string> known_;
  Diagnostics errors_;
};

// Resizing along one axis: for each element of the result, the first source element and the weights, which sum to 1.
struct Weights {
  std::int64_t first = 0;
  std::vector<double> of;
};
std::vector<Weights> weights_along(std::int64_t from, std::int64_t to, Filter filter, bool antialias) {
  std::vector<Weights> rows;
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * ratio;
    if (filter == Filter::nearest) {
      rows.push_back({std::min(static_cast<std::int64_t>(center), from - 1), {1}});
      continue;
    }
    if (!antialias) {
      // Interpolates between the two neighbors; beyond the border, uses the pixel at the border.
      const double at = std::clamp(center - 0.5, 0.0, static_cast<double>(from - 1));
      const auto first = static_cast<std::int64_t>(at);
      const double part = at - static_cast<double>(first);
      if (part == 0) rows.push_back({first, {1}});
      else rows.push_back({first, {1 - part, part}});
      continue;
    }
    // A triangle filter as wide as the input pixels of one result pixel, and at least one pixel wide (Pillow,
    // ImagingResample).
    const double support = std::max(ratio, 1.0);
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(center - support + 0.5))),
               last = std::min(from, static_cast<std::int64_t>(std::floor(center + support + 0.5)));
    Weights row{first, {}};
    double sum = 0;
    for (std::int64_t x = first; x < last; ++x) {
      row.of.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(x) + 0.5 - center) / support)));
      sum += row.of.back();
    }
    for (double& weight : row.of) weight /= sum;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// ITU-R 601 luma, as Pillow's "L".
double luma(const Image& image, std::int64_t y, std::int64_t x) {
  return std::floor((image.at(y, x, 0) * 19595.0 + image.at(y, x, 1) * 38470.0 + image.at(y, x, 2) * 7471.0 + 32768) /
                    65536);
}

}  // namespace

Result<Preprocess> Preprocess::parse(const Json& json, const std::string& where) {
  if (!json.is_object())
    return Diagnostic{"cannot use the preprocessing", where, "expected a JSON object",
                      "docs/howto/own-data.md has an example"};
  Reader reader(json, where);
  Preprocess result;
  if (const Json* found = reader.find("resize")) {
    if (found->is_number()) {
      result.shorter_side = Reader::extent(*found);
      if (!result.shorter_side)
        reader.refuse("resize", fmt::format("the value is {}", found->dump()),
                      "give a number of pixels, or [height, width]");
    } else {
      result.size = reader.size("resize", *found);
    }
  }
  reader.choice("filter", kFilters, result.filter, false);
  if (const Json* found = reader.find("antialias")) {
    if (found->is_boolean()) result.antialias = found->get<bool>();
    else reader.refuse("antialias", fmt::format("the value is {}", found->dump()), "write true or false");
  }
  if (const Json* found = reader.find("crop")) result.crop = reader.size("crop", *found);
  reader.choice("channels", kChannels, result.channels, true);
  reader.choice("layout", kLayouts, result.layout, true);
  // Required, since a mean does not show whether pixels have the range 0 to 1 or 0 to 255.
  if (const Json* found = reader.find("scale", true)) {
    if (found->is_number() && std::isfinite(found->get<double>()) && found->get<double>() != 0)
      result.scale = found->get<double>();
    else
      reader.refuse("scale", fmt::format("the value is {}", found->dump()),
                    "write 1 for pixels of 0 to 255, 0.00392156862745098 for 0 to 1");
  }
  const std::size_t channels = result.channels == Channels::gray ? 1 : 3;
  reader.numbers("mean", channels, true, result.mean);
  reader.numbers("deviation", channels, false, result.deviation);
  if (const Json* found = reader.find("input")) {
    if (found->is_string()) result.input = found->get<std::string>();
    else reader.refuse("input", fmt::format("the value is {}", found->dump()), "give the name of the model's input");
  }
  if (Diagnostics errors = reader.finish(); !errors.empty()) return errors;
  return result;
}

Result<Preprocess> Preprocess::read(const std::string& file) {
  DOVETAIL_ASSIGN(const Json json, read_json_file(file));
  return parse(json, file);
}

Json Preprocess::to_json() const {
  Json json = Json::object();
  if (shorter_side) json["resize"] = *shorter_side;
  if (size) json["resize"] = *size;
  json["filter"] = name_of(kFilters, filter);
  json["antialias"] = antialias;
  if (crop) json["crop"] = *crop;
  json["channels"] = name_of(kChannels, channels);
  json["layout"] = name_of(kLayouts, layout);
  json["scale"] = scale;
  json["mean"] = mean.size() == 1 ? Json(mean[0]) : Json(mean);
  json["deviation"] = deviation.size() == 1 ? Json(deviation[0]) : Json(deviation);
  if (!input.empty()) json["input"] = input;
  return json;
}

Image resized(const Image& image, std::int64_t height, std::int64_t width, Filter filter, bool antialias) {
  if (height == image.height && width == image.width) return image;
  const auto along = [&](std::int64_t from, std::int64_t to) { return weights_along(from, to, filter, antialias); };
  // Values between the two passes are bytes, as in Pillow; without antialiasing there is one pass, as in OpenCV.
  const std::vector<Weights> columns = along(image.width, width), rows = along(image.height, height);
  const auto pixels = static_cast<std::size_t>(image.height * width * 3);
  std::vector<double> narrow(pixels);
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        const Weights& weights = columns[static_cast<std::size_t>(x)];
        double sum = 0;
        for (std::size_t i = 0; i < weights.of.size(); ++i)
          sum += weights.of[i] * image.at(y, weights.first + static_cast<std::int64_t>(i), c);
        narrow[static_cast<std::size_t>((y * width + x) * 3 + c)] = antialias ? to_byte(sum) : sum;
      }
  Image result{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(height * width * 3))};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width * 3; ++x) {
      const Weights& weights = rows[static_cast<std::size_t>(y)];
      double sum = 0;
      for (std::size_t i = 0; i < weights.of.size(); ++i)
        sum += weights.of[i] *
               narrow[static_cast<std::size_t>((weights.first + static_cast<std::int64_t>(i)) * width * 3 + x)];
      result.pixels[static_cast<std::size_t>(y * width * 3 + x)] = to_byte(sum);
    }
  return result;
}

Result<NdArray> Preprocess::apply(const Image& given, DType dtype, const Shape& shape, const std::string& where) const {
  Image image = given;
  if (shorter_side) {
    const std::int64_t shorter = std::min(image.width, image.height), target = *shorter_side;
    image = resized(image, image.height * target / shorter, image.width * target / shorter, filter, antialias);
  } else if (size) {
    image = resized(image, (*size)[0], (*size)[1], filter, antialias);
  }
  const Shape window = crop.value_or(Shape{image.height, image.width});
  if (window[0] > image.height || window[1] > image.width)
    return Diagnostic{"cannot use the image", where,
                      fmt::format("the crop of {} x {} is larger than the image of {} x {} pixels (height x width)",
                                  window[0], window[1], image.height, image.width),
                      "resize the image first, with \"resize\""};
  const std::int64_t top = (image.height - window[0]) / 2, left = (image.width - window[1]) / 2,
                     colors = channels == Channels::gray ? 1 : 3;
  const bool first = layout == ImageLayout::nchw;
  const Shape made = first ? Shape{1, colors, window[0], window[1]} : Shape{1, window[0], window[1], colors};
  if (shape.size() != 4 || !std::equal(made.begin() + 1, made.end(), shape.begin() + 1))
    return Diagnostic{
        "cannot use the image", where,
        fmt::format("the preprocessing yields {}, but the model needs {}", to_string(made), type_text(dtype, shape)),
        "change \"resize\", \"crop\", \"channels\" or \"layout\""};
  NdArray row(dtype, made);
  for (std::int64_t y = 0; y < window[0]; ++y)
    for (std::int64_t x = 0; x < window[1]; ++x)
      for (std::int64_t c = 0; c < colors; ++c) {
        const int color = static_cast<int>(channels == Channels::bgr ? 2 - c : c);
        const double pixel =
            channels == Channels::gray ? luma(image, top + y, left + x) : image.at(top + y, left + x, color);
        const auto of = [&](const std::vector<double>& values) {
          return values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
        };
        const double value = (pixel * scale - of(mean)) / of(deviation);
        row.set_double(first ? (c * window[0] + y) * window[1] + x : (y * window[1] + x) * colors + c,
                       is_floating(dtype) ? value : std::nearbyint(value));
      }
  return row;
}

Result<std::optional<Preprocess>> preprocess_of(const std::map<std::string, std::string>& metadata,
                                                const std::string& where) {
  const auto entry = metadata.find(kPreprocessKey);
  if (entry == metadata.end()) return std::optional<Preprocess>();
  const std::string source = fmt::format("{}, metadata {}", where, kPreprocessKey);
  DOVETAIL_ASSIGN(const Json json, parse_json(entry->second, source));
  DOVETAIL_ASSIGN(Preprocess found, Preprocess::parse(json, source));
  return std::optional(std::move(found));
}

Result<std::optional<Preprocess>> preprocess_of(const bundle::Bundle& bundle) {
  if (!bundle.report.is_object() || !bundle.report.contains(kPreprocessKey)) return std::optional<Preprocess>();
  const Json& entry = bundle.report[kPreprocessKey];
  if (!entry.is_string())
    return Diagnostic{"cannot use the preprocessing", bundle.name, "its entry in the bundle's report is not text",
                      "give --preprocess FILE.json"};
  return preprocess_of({{kPreprocessKey, entry.get<std::string>()}}, bundle.name);
}

}  // namespace dovetail::driver
