#include "isa/text/scan.h"

#include <algorithm>

#include <fmt/format.h>

namespace dovetail::isa::text {

namespace {

constexpr std::size_t kMaxErrors = 100;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' || c == '-';
}

std::optional<unsigned> digit_value(char c, unsigned base) {
  unsigned value = base;
  if (is_digit(c)) value = static_cast<unsigned>(c - '0');
  else if (c >= 'a' && c <= 'f') value = static_cast<unsigned>(c - 'a' + 10);
  else if (c >= 'A' && c <= 'F') value = static_cast<unsigned>(c - 'A' + 10);
  return value < base ? std::optional(value) : std::nullopt;
}

std::vector<Word> words_of(std::string_view line, std::size_t offset) {
  std::vector<Word> words;
  while (offset < line.size()) {
    if (is_blank(line[offset])) {
      ++offset;
      continue;
    }
    std::size_t end = offset;
    while (end < line.size() && !is_blank(line[end])) ++end;
    words.push_back({line.substr(offset, end - offset), offset + 1});
    offset = end;
  }
  return words;
}

}  // namespace

Line scan_line(std::string_view line, std::size_t number) {
  line = line.substr(0, std::min({line.find('#'), line.find(';'), line.find("//"), line.size()}));
  Line scanned;
  scanned.number = number;
  std::size_t begin = 0;
  while (begin < line.size() && is_blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && is_name(line[end])) ++end;
  // A colon inside a word belongs to an operand, as in uop=0:4; a label's is followed by a blank or the end of the
  // line.
  if (end > begin && end < line.size() && line[end] == ':' && (end + 1 == line.size() || is_blank(line[end + 1]))) {
    scanned.label = Word{line.substr(begin, end - begin), begin + 1};
    begin = end + 1;
  }
  scanned.words = words_of(line, begin);
  if (!scanned.words.empty() && scanned.words.front().text == ".uop") {
    const std::vector<Word> parts = std::move(scanned.words);
    scanned.words = {parts.front()};
    for (std::size_t i = 1; i < parts.size(); ++i)
      for (const Word& piece : split(parts[i], ','))
        if (!piece.text.empty()) scanned.words.push_back(piece);
  }
  return scanned;
}

std::vector<Word> split(Word word, char separator) {
  std::vector<Word> pieces;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= word.text.size(); ++i)
    if (i == word.text.size() || word.text[i] == separator) {
      pieces.push_back({word.text.substr(begin, i - begin), word.column + begin});
      begin = i + 1;
    }
  return pieces;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  unsigned base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.empty() || text.front() == '_' || text.back() == '_') return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c == '_') continue;
    const auto digit = digit_value(c, base);
    if (!digit || value > (UINT64_MAX - *digit) / base) return std::nullopt;
    value = value * base + *digit;
  }
  return value;
}

void Errors::add(std::size_t line, std::size_t column, std::string why, std::string hint) {
  if (errors_.size() >= kMaxErrors) {
    ++suppressed_;
    return;
  }
  errors_.push_back(
      {"cannot assemble", fmt::format("{}:{}:{}", where_, line, column), std::move(why), std::move(hint)});
}

Diagnostics Errors::take() {
  if (suppressed_ > 0)
    errors_.push_back({"cannot assemble", where_, fmt::format("{} errors follow the {} above", suppressed_, kMaxErrors),
                       "fix these first"});
  return std::move(errors_);
}

}  // namespace dovetail::isa::text
