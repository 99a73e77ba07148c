#include "loops/syntax.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace dovetail::loops {

bool is_bare_name(std::string_view text) {
  const auto starts = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto continues = [&](char c) {
    return starts(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
  };
  return !text.empty() && starts(text.front()) && std::all_of(text.begin(), text.end(), continues) &&
         std::find(kReservedWords.begin(), kReservedWords.end(), text) == kReservedWords.end();
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (std::iscntrl(static_cast<unsigned char>(c)) != 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string printed_name(std::string_view text) { return is_bare_name(text) ? std::string(text) : loops::quoted(text); }

}  // namespace dovetail::loops
