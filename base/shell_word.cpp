#include "base/shell_word.h"

#include <algorithm>
#include <cctype>

namespace dovetail {

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "_-./,:=+@%";
  const auto is_plain = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace dovetail
