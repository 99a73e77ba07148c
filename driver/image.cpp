#include "driver/image.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#ifdef DOVETAIL_PNG
#include <png.h>
#endif
#ifdef DOVETAIL_JPEG
#include <csetjmp>

#include <jpeglib.h>
#endif

namespace dovetail::driver {

namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

Diagnostic unreadable(const std::string& where, std::string why, std::string hint = "the file may be damaged") {
  return {"cannot read the image", where, std::move(why), std::move(hint)};
}

Result<Image> image_of(std::int64_t width, std::int64_t height, const std::string& where) {
  if (width < 1 || height < 1 || width > kMostPixels / height)
    return unreadable(where, fmt::format("it has {} x {} pixels, and must have 1 to {}", width, height, kMostPixels),
                      "make the picture smaller");
  Image image{width, height, {}};
  image.pixels.resize(static_cast<std::size_t>(width * height * 3));
  return image;
}

// P5 and P6 (netpbm, "pgm" and "ppm"): words between white space and comments, one white space, the pixels.
Result<Image> decode_pnm(std::span<const std::byte> file, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto colors = static_cast<std::size_t>(text[1] == '6' ? 3 : 1);
  std::size_t at = 2;
  std::array<std::int64_t, 3> header{};  // width, height, largest value
  for (std::int64_t& number : header) {
    while (at < text.size() && (std::isspace(static_cast<unsigned char>(text[at])) != 0 || text[at] == '#'))
      at = text[at] == '#' ? std::min(text.find('\n', at), text.size()) : at + 1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc{}) return unreadable(where, "its header has no width, height and largest value");
    at = static_cast<std::size_t>(end - text.data());
  }
  ++at;
  if (header[2] != 255)
    return unreadable(where, fmt::format("its largest value is {}, and must be 255", header[2]),
                      "write it with 8 bits");
  DOVETAIL_ASSIGN(Image image, image_of(header[0], header[1], where));
  const std::size_t bytes = image.pixels.size() / 3 * colors;
  if (at > text.size() || text.size() - at < bytes)
    return unreadable(
        where, fmt::format("its pixels need {} bytes, and it has {}", bytes, at > text.size() ? 0 : text.size() - at));
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(text[at + (colors == 3 ? i : i / 3)]);
  return image;
}

#ifdef DOVETAIL_PNG
constexpr bool kHasPng = true;

Result<Image> decode_png(std::span<const std::byte> file, const std::string& where) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const auto failed = [&] {
    const std::string why = png.message;
    png_image_free(&png);
    return unreadable(where, "libpng: " + why);
  };
  if (png_image_begin_read_from_memory(&png, file.data(), file.size()) == 0) return failed();
  auto image = image_of(png.width, png.height, where);
  if (!image.ok()) {
    png_image_free(&png);
    return image;
  }
  png.format = PNG_FORMAT_RGBA;  // alpha is ignored, not blended
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(png));
  if (png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr) == 0) return failed();
  for (std::size_t i = 0; i < image->pixels.size(); ++i) image->pixels[i] = pixels[i / 3 * 4 + i % 3];
  return image;
}
#else
constexpr bool kHasPng = false;
Result<Image> decode_png(std::span<const std::byte>, const std::string& where) { return unreadable(where, ""); }
#endif

#ifdef DOVETAIL_JPEG
constexpr bool kHasJpeg = true;

// libjpeg reports a fatal error by a call that must not return.
struct JpegErrors {
  jpeg_error_mgr manager;  // first member: libjpeg passes a pointer to it
  std::jmp_buf escape;
  std::array<char, JMSG_LENGTH_MAX> message;
};

// setjmp must not return into a frame with destructors: this function has none.
bool decompress(std::span<const std::byte> file, JpegErrors& errors, bool (*take)(void* to, jpeg_decompress_struct&),
                void* to) {
  jpeg_decompress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr failed) {
    auto* own = reinterpret_cast<JpegErrors*>(failed->err);
    failed->err->format_message(failed, own->message.data());
    std::longjmp(own->escape, 1);
  };
  errors.manager.output_message = [](j_common_ptr) {};
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  const bool taken = take(to, jpeg);
  jpeg_destroy_decompress(&jpeg);
  return taken;
}

struct JpegTarget {
  std::vector<std::uint8_t> pixels;
  std::int64_t width = 0, height = 0;
  int colors = 0;
  bool too_large = false;
};

Result<Image> decode_jpeg(std::span<const std::byte> file, const std::string& where) {
  JpegErrors errors{};
  JpegTarget target;
  // The memory of the pixels is allocated before decoding: an error of libjpeg jumps out of it without running
  // destructors.
  const auto size = [](void* to, jpeg_decompress_struct& jpeg) {
    auto& target = *static_cast<JpegTarget*>(to);
    target.width = jpeg.image_width, target.height = jpeg.image_height, target.colors = jpeg.num_components;
    return true;
  };
  if (!decompress(file, errors, size, &target))
    return unreadable(where, fmt::format("libjpeg: {}", errors.message.data()));
  if (target.colors == 4) return unreadable(where, "it has four colors (CMYK)", "convert it to RGB");
  DOVETAIL_ASSIGN(Image image, image_of(target.width, target.height, where));
  target.pixels = std::move(image.pixels);
  const auto read = [](void* to, jpeg_decompress_struct& jpeg) {
    auto& target = *static_cast<JpegTarget*>(to);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    while (jpeg.output_scanline < jpeg.output_height) {
      std::uint8_t* row = target.pixels.data() + static_cast<std::size_t>(jpeg.output_scanline) * jpeg.output_width * 3;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
    return jpeg.err->num_warnings == 0;
  };
  errors.message = {};
  if (!decompress(file, errors, read, &target))
    return unreadable(where, errors.message[0] != 0 ? fmt::format("libjpeg: {}", errors.message.data())
                                                    : std::string("libjpeg finds its data corrupt"));
  image.pixels = std::move(target.pixels);
  return image;
}
#else
constexpr bool kHasJpeg = false;
Result<Image> decode_jpeg(std::span<const std::byte>, const std::string& where) { return unreadable(where, ""); }
#endif

struct Format {
  std::string_view name, magic;
  bool here;
  std::string_view library, packages;
  Result<Image> (*decode)(std::span<const std::byte> file, const std::string& where);
};
constexpr std::array<Format, 4> kFormats{{
    {"PNG", "\x89PNG\r\n\x1a\n", kHasPng, "libpng", "libpng-dev", decode_png},
    {"JPEG", "\xff\xd8\xff", kHasJpeg, "libjpeg", "libjpeg-dev", decode_jpeg},
    {"PGM", "P5", true, "", "", decode_pnm},
    {"PPM", "P6", true, "", "", decode_pnm},
}};

const Format* format_of(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto row = std::ranges::find_if(kFormats, [&](const Format& format) { return text.starts_with(format.magic); });
  return row == kFormats.end() ? nullptr : &*row;
}

}  // namespace

bool is_image(std::span<const std::byte> file) { return format_of(file) != nullptr; }

Result<Image> decode_image(std::span<const std::byte> file, const std::string& where) {
  const Format* format = format_of(file);
  if (format == nullptr) return unreadable(where, "it is neither PNG, JPEG, PPM nor PGM", "convert it to one of these");
  if (!format->here)
    return unreadable(where,
                      fmt::format("it is a {}, and this kit was built without {}", format->name, format->library),
                      fmt::format("install {} and build again, or convert it to PPM", format->packages));
  return format->decode(file, where);
}

}  // namespace dovetail::driver
