#include "simulator/memory/byte_rate.h"

#include <algorithm>

#include <fmt/format.h>

namespace dovetail::simulator {

namespace {

constexpr std::int64_t kScale = 1'000'000;  // 10^kRateDecimals

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<ByteRate> parse_byte_rate(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  std::string decimals(point == std::string_view::npos ? "0" : text.substr(point + 1));
  if (!are_digits(whole) || whole.size() > 7 || !are_digits(decimals) || decimals.size() > kRateDecimals)
    return std::nullopt;
  decimals.resize(kRateDecimals, '0');
  const std::int64_t scaled = std::stoll(std::string(whole)) * kScale + std::stoll(decimals);
  if (scaled > kMostRate * kScale) return std::nullopt;
  return ByteRate(scaled, kScale);
}

std::string to_string(const ByteRate& rate) {
  const std::int64_t part = rate.bytes % rate.cycles * (kScale / rate.cycles);
  std::string text = fmt::format("{}", rate.bytes / rate.cycles);
  if (part == 0) return text;
  text += fmt::format(".{:06}", part);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

}  // namespace dovetail::simulator
