// Text from files, made harmless for a terminal. Names in models, bundles and traces may hold anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dovetail {

enum class Lines { escape, keep };  // line breaks and tabs: no business of a name, but the structure of a text

// Every byte of these becomes "\xNN": control characters (C0, DEL, and C1, of which terminals make commands as well),
// marks that reverse the direction of writing, and what is no UTF-8. Different names remain different, but for those
// that hold such a text themselves.
std::string printable(std::string_view bytes, Lines lines = Lines::escape);

// Of the character (a code point of UTF-8) that the text begins with; 1 where its first byte begins none. Precondition:
// it is not empty.
std::size_t character_bytes(std::string_view text);

// The same characters as "\uNNNN", for JSON in UTF-8. It keeps its meaning, since they can only be in its strings.
std::string escape_unprintable(std::string_view json);

}  // namespace dovetail
