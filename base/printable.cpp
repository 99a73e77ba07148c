#include "base/printable.h"

#include <cstdint>

#include <fmt/format.h>

namespace dovetail {

namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// Decodes the first character of a nonempty text (RFC 3629, section 4: no overlong forms, no surrogates).
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= kLeast[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? Character{code, bytes, true} : Character{};
}

bool is_line_structure(std::uint32_t code) { return code == '\n' || code == '\t'; }

bool is_command(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);  // C0, DEL, C1
}

// The bidirectional controls of Unicode (UAX #9, section 2) and the separators that some terminals take for line
// breaks.
bool is_misleading(std::uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// `append` is called with each character and its bytes, and adds their representation to the result.
template <typename Append>
std::string each_character(std::string_view text, Append append) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = decode(text);
    append(result, character, text.substr(0, character.bytes));
    text.remove_prefix(character.bytes);
  }
  return result;
}

bool is_harmless(const Character& character) {
  return character.valid && !is_command(character.code) && !is_misleading(character.code);
}

}  // namespace

std::size_t character_bytes(std::string_view text) { return decode(text).bytes; }

std::string printable(std::string_view bytes, Lines lines) {
  return each_character(bytes, [&](std::string& text, const Character& character, std::string_view of_it) {
    if (is_harmless(character) || (lines == Lines::keep && is_line_structure(character.code))) text += of_it;
    else
      for (const char byte : of_it) text += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(byte));
  });
}

std::string escape_unprintable(std::string_view json) {
  return each_character(json, [](std::string& text, const Character& character, std::string_view of_it) {
    const bool kept = !character.valid || is_harmless(character) || is_line_structure(character.code);
    if (kept) text += of_it;
    else text += fmt::format("\\u{:04x}", character.code);
  });
}

}  // namespace dovetail
