#include "loops/lexer.h"

#include <array>
#include <cctype>

namespace dovetail::loops {
namespace {

// Longer symbols first.
constexpr std::array<std::string_view, 35> kSymbols{
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "//", "+:", "+=", "-=", "*=", "<", ">", "|", "^", "&",
    "+",  "-",  "*",  "/",  "%",  "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":",  "=", "!", "~", "@"};

bool is_word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return is_word_start(c) || is_digit(c) || c == '.'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    do tokens.push_back(next());
    while (tokens.back().kind != TokenKind::end);
    return tokens;
  }

 private:
  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  bool at_end() const { return position_ >= text_.size(); }
  char take() {
    const char c = text_[position_++];
    if (c == '\n') ++line_, column_ = 1;
    else ++column_;
    return c;
  }

  void skip_blank() {
    while (!at_end()) {
      if (peek() == '#') {
        while (!at_end() && peek() != '\n') take();
      } else if (std::isspace(static_cast<unsigned char>(peek())) != 0) {
        take();
      } else {
        return;
      }
    }
  }

  Token next() {
    skip_blank();
    Token token{TokenKind::end, "", line_, column_};
    if (at_end()) return token;
    if (is_word_start(peek())) {
      token.kind = TokenKind::word;
      while (is_word(peek())) token.text += take();
    } else if (is_digit(peek())) {
      number(token);
    } else if (peek() == '"') {
      quoted(token);
    } else {
      symbol(token);
    }
    return token;
  }

  void number(Token& token) {
    token.kind = TokenKind::integer;
    while (is_digit(peek())) token.text += take();
    if (peek() == '.' && is_digit(peek(1))) {
      token.kind = TokenKind::floating;
      token.text += take();
      while (is_digit(peek())) token.text += take();
    }
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
    if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign))) {
      token.kind = TokenKind::floating;
      for (std::size_t i = 0; i < sign; ++i) token.text += take();
      while (is_digit(peek())) token.text += take();
    }
  }

  void quoted(Token& token) {
    token.kind = TokenKind::quoted;
    take();
    while (!at_end() && peek() != '"' && peek() != '\n') {
      const char c = take();
      if (c != '\\') {
        token.text += c;
        continue;
      }
      const char escaped = at_end() ? '\0' : take();
      const auto hex = [](char h) {
        return is_digit(h)                                         ? h - '0'
               : std::isxdigit(static_cast<unsigned char>(h)) != 0 ? std::tolower(h) - 'a' + 10
                                                                   : -1;
      };
      if (escaped == 'n') token.text += '\n';
      else if (escaped == 't') token.text += '\t';
      else if (escaped == '"' || escaped == '\\') token.text += escaped;
      else if (escaped == 'x' && hex(peek()) >= 0 && hex(peek(1)) >= 0) {
        const int high = hex(take());
        token.text += static_cast<char>(high * 16 + hex(take()));
      } else {
        token = {TokenKind::bad, "an unknown escape in a quoted name", token.line, token.column};
        return;
      }
    }
    if (at_end() || peek() != '"') {
      token = {TokenKind::bad, "a quoted name that does not end on its line", token.line, token.column};
      return;
    }
    take();
  }

  void symbol(Token& token) {
    for (const std::string_view candidate : kSymbols) {
      if (text_.substr(position_, candidate.size()) != candidate) continue;
      token.kind = TokenKind::symbol;
      token.text = candidate;
      for (std::size_t i = 0; i < candidate.size(); ++i) take();
      return;
    }
    token.kind = TokenKind::bad;
    take();
    token.text = "a character that is not part of a token";
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace dovetail::loops
