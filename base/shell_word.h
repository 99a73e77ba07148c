// Words of command lines that reports print for a shell.
#pragma once

#include <string>
#include <string_view>

namespace dovetail {

// The text as one word: unchanged, or in single quotes.
std::string shell_word(std::string_view text);

}  // namespace dovetail
