// Bytes in text that JSON and HTML hold unchanged: base64 of RFC 4648, with padding.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::simulator {

std::string to_base64(std::span<const std::byte> bytes);
// Empty: it is none.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace dovetail::simulator
