// Base64 of RFC 4648, with padding: bytes as text that JSON and HTML can contain unescaped.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::simulator {

std::string to_base64(std::span<const std::byte> bytes);
// nullopt: it is not valid base64.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace dovetail::simulator
