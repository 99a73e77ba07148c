#include "simulator/trace/base64.h"

#include <cstdint>

namespace dovetail::simulator {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t digits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      const std::size_t digit = kDigits.find(c);
      // Padding is at the end of the last group only, after at least two digits.
      if (c == '=' ? i + 4 != text.size() || k < 2 : digit == std::string_view::npos || digits != k)
        return std::nullopt;
      if (c != '=') ++digits;
      group = group << 6 | (c == '=' ? 0 : static_cast<std::uint32_t>(digit));
    }
    for (std::size_t k = 0; k + 1 < digits; ++k) bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * k) & 255));
  }
  return bytes;
}

}  // namespace dovetail::simulator
