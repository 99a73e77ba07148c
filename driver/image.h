// Pictures from files: PNG, JPEG, and binary PPM and PGM, distinguished by content. PNG and JPEG need libpng and
// libjpeg(-turbo), which a build may lack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::driver {

// Rows from top to bottom, pixels from left to right, and red, green and blue of each pixel as in the file.
// Transparency, color space and orientation of the file are not applied.
struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // height * width * 3

  std::uint8_t at(std::int64_t row, std::int64_t column, int color) const {
    return pixels[static_cast<std::size_t>((row * width + column) * 3 + color)];
  }
};

// Whether a file begins like one of these formats.
bool is_image(std::span<const std::byte> file);
// Errors: a format that this build lacks, damaged files, more than 2^26 pixels, a JPEG of four colors.
Result<Image> decode_image(std::span<const std::byte> file, const std::string& where);

}  // namespace dovetail::driver
