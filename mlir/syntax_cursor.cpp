#include <algorithm>
#include <charconv>
#include <iterator>

#include <fmt/format.h>

#include "mlir/syntax_parser.h"

namespace dovetail::mlir {

namespace {

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool continues_word(char c) { return starts_word(c) || is_decimal(c) || c == '$' || c == '.'; }
int hexadecimal(char c) {
  if (is_decimal(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void SyntaxParser::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_).starts_with("//")) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

bool SyntaxParser::at_end() {
  skip_space();
  return at_ >= text_.size();
}

char SyntaxParser::peek() { return at_end() ? '\0' : text_[at_]; }

bool SyntaxParser::is_next(std::string_view symbol) {
  skip_space();
  return text_.substr(at_).starts_with(symbol);
}

bool SyntaxParser::accept(std::string_view symbol) {
  if (!is_next(symbol)) return false;
  at_ += symbol.size();
  return true;
}

bool SyntaxParser::accept_word(std::string_view expected_word) {
  if (!is_next(expected_word)) return false;
  const std::size_t end = at_ + expected_word.size();
  if (end < text_.size() && continues_word(text_[end])) return false;
  at_ = end;
  return true;
}

void SyntaxParser::expect(std::string_view symbol, std::string_view context) {
  if (!accept(symbol)) expected(fmt::format("\"{}\" {}", symbol, context));
}

std::string SyntaxParser::word() {
  if (at_end() || !starts_word(text_[at_])) return "";
  const std::size_t begin = at_;
  while (at_ < text_.size() && continues_word(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string SyntaxParser::expect_word(std::string_view what) {
  std::string result = word();
  if (result.empty()) expected(what);
  return result;
}

std::string SyntaxParser::quoted() {
  const Position begin = position();
  expect("\"", "before a text");
  std::string result;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\n') break;
    if (c == '\\' && at_ < text_.size()) {
      const char escaped = text_[at_++];
      const int high = hexadecimal(escaped), low = at_ < text_.size() ? hexadecimal(text_[at_]) : -1;
      if (escaped == 'n') c = '\n';
      else if (escaped == 't') c = '\t';
      else if (high >= 0 && low >= 0) c = static_cast<char>(high * 16 + low), ++at_;
      else c = escaped;
    }
    result += c;
  }
  if (at_ >= text_.size() || text_[at_] != '"') fail(begin, "the text in quotes does not end", "end it with \"");
  ++at_;
  return result;
}

std::string SyntaxParser::number_text() {
  skip_space();
  const std::size_t begin = at_;
  if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
  const auto digits = [&] {
    while (at_ < text_.size() && is_decimal(text_[at_])) ++at_;
  };
  const bool hex = text_.substr(at_).starts_with("0x") && at_ + 2 < text_.size() && hexadecimal(text_[at_ + 2]) >= 0;
  if (hex) {
    at_ += 2;
    while (at_ < text_.size() && hexadecimal(text_[at_]) >= 0) ++at_;
  } else {
    digits();
    if (at_ < text_.size() && text_[at_] == '.') ++at_, digits();
    if (at_ + 1 < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E') &&
        (is_decimal(text_[at_ + 1]) || text_[at_ + 1] == '-' || text_[at_ + 1] == '+')) {
      at_ += 2;
      digits();
    }
  }
  return std::string(text_.substr(begin, at_ - begin));
}

std::int64_t SyntaxParser::integer(std::string_view what) {
  skip_space();
  const Position begin = position();
  const std::size_t from = at_;
  if (at_ < text_.size() && text_[at_] == '-') ++at_;
  while (at_ < text_.size() && is_decimal(text_[at_])) ++at_;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text_.data() + from, text_.data() + at_, number);
  if (at_ == from || (error == std::errc::invalid_argument)) {
    at_ = from;
    expected(what);
  }
  if (error != std::errc{} || end != text_.data() + at_)
    fail(begin, "the number does not fit 64 bits", "use a smaller one");
  return number;
}

Operand SyntaxParser::value() {
  skip_space();
  const Position begin = position();
  expect("%", "before a value");
  const std::size_t from = at_;
  while (at_ < text_.size() && (continues_word(text_[at_]) || text_[at_] == '-' || text_[at_] == '#')) ++at_;
  if (from == at_) fail(begin, "the value has no name", "write %name");
  return {std::string(text_.substr(from, at_ - from)), begin};
}

std::string SyntaxParser::symbol() {
  expect("@", "before a function's name");
  if (at_ < text_.size() && text_[at_] == '"') return quoted();
  return expect_word("a function's name");
}

std::string SyntaxParser::balanced(char open, char close) {
  skip_space();
  const Position start = position();
  const std::size_t begin = at_;
  int depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      quoted();
      continue;
    }
    ++at_;
    const bool arrow = c == '>' && at_ >= 2 && text_[at_ - 2] == '-';
    if (c == open) ++depth;
    else if (c == close && !arrow && --depth == 0) return std::string(text_.substr(begin, at_ - begin));
  }
  fail(start, fmt::format("the bracket \"{}\" is not closed", open), fmt::format("close it with \"{}\"", close));
}

SyntaxParser::SyntaxParser(std::string_view text, std::string_view where) : text_(text), where_(where) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') lines_.push_back(i + 1);
}

Position SyntaxParser::position_at(std::size_t offset) const {
  const auto next = std::ranges::upper_bound(lines_, offset);
  return {static_cast<int>(next - lines_.begin()), static_cast<int>(offset - *std::prev(next)) + 1};
}

void SyntaxParser::fail(Position at, std::string why, std::string hint) {
  errors_.push_back(
      {"cannot parse MLIR", fmt::format("{}:{}:{}", where_, at.line, at.column), std::move(why), std::move(hint)});
  throw Stop{};
}

void SyntaxParser::expected(std::string_view what) {
  skip_space();
  std::string found = "the end of the text";
  if (at_ < text_.size()) {
    std::size_t end = at_;
    while (end < text_.size() && end < at_ + 24 && static_cast<unsigned char>(text_[end]) > ' ') ++end;
    found = "\"" + std::string(text_.substr(at_, end - at_)) + "\"";
  }
  fail(position(), fmt::format("expected {}, found {}", what, found),
       "`mlir-opt` prints the accepted forms; docs/howto/mlir.md names the operations");
}

}  // namespace dovetail::mlir
