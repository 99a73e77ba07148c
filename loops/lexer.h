// Tokens of the text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::loops {

enum class TokenKind : std::uint8_t { word, quoted, integer, floating, symbol, end, bad };

struct Token {
  TokenKind kind;
  std::string text;  // quoted name: without quotes and escapes; bad token: the reason
  int line, column;  // from 1
};

// Ends with an `end` token. Comments run from # to the end of the line.
std::vector<Token> tokenize(std::string_view text);

}  // namespace dovetail::loops
