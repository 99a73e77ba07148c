// Text from files, sanitized for terminals. Names in models, bundles and traces may contain any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dovetail {

enum class Lines { escape, keep };  // line breaks and tabs: escaped in names, kept in texts

// Replaces every byte of the following by "\xNN": control characters (C0, DEL, and C1, which terminals also interpret
// as commands), marks that reverse the direction of writing, and invalid UTF-8. Different names remain different,
// except for names that contain such an escape themselves.
std::string printable(std::string_view bytes, Lines lines = Lines::escape);

// The number of bytes of the character (a code point of UTF-8) that the text begins with; 1 if its first byte is
// invalid. Precondition: the text is not empty.
std::size_t character_bytes(std::string_view text);

// Replaces the same characters by "\uNNNN", for JSON in UTF-8. The meaning is kept, as they can occur only in strings.
std::string escape_unprintable(std::string_view json);

}  // namespace dovetail
