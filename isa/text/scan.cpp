#include "isa/text/scan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace dovetail::isa::text {

namespace {

constexpr std::size_t kMaxErrors = 100;
constexpr std::size_t kShownUses = 3;  // uses of nested macros shown, in addition to the outermost

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_label_letter(char c) { return is_symbol_letter(c) || c == '-'; }

std::optional<unsigned> digit_value(char c, unsigned base) {
  unsigned value = base;
  if (is_digit(c)) value = static_cast<unsigned>(c - '0');
  else if (c >= 'a' && c <= 'f') value = static_cast<unsigned>(c - 'a' + 10);
  else if (c >= 'A' && c <= 'F') value = static_cast<unsigned>(c - 'A' + 10);
  return value < base ? std::optional(value) : std::nullopt;
}

bool begins_comment(std::string_view text, std::size_t at) {
  const char c = text[at];
  return c == '#' || c == ';' || (c == '/' && at + 1 < text.size() && text[at + 1] == '/');
}

// The scanner's action for a character between words: none for most.
enum class Letter : std::uint8_t { plain, blank, comma, slash, comment, quote, open, close };
constexpr std::array<Letter, 256> kLetters = [] {
  std::array<Letter, 256> letters{};
  for (const char c : {' ', '\t', '\r'}) letters[static_cast<unsigned char>(c)] = Letter::blank;
  for (const char c : {'#', ';'}) letters[static_cast<unsigned char>(c)] = Letter::comment;
  for (const char c : {'(', '['}) letters[static_cast<unsigned char>(c)] = Letter::open;
  for (const char c : {')', ']'}) letters[static_cast<unsigned char>(c)] = Letter::close;
  letters['/'] = Letter::slash;
  letters['"'] = Letter::quote;
  letters[','] = Letter::comma;
  return letters;
}();

// The end of the word that begins at `at`; `commas`: commas end it.
std::size_t end_of_word(std::string_view text, std::size_t at, bool commas, bool& open_quote) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    switch (kLetters[static_cast<unsigned char>(text[at])]) {
      case Letter::plain: break;
      case Letter::blank:
        if (depth <= 0) return at;
        break;
      case Letter::comma:
        if (depth <= 0 && commas) return at;
        break;
      case Letter::comment: return at;
      case Letter::slash:
        if (begins_comment(text, at)) return at;
        break;
      case Letter::quote: {
        const std::size_t close = text.find('"', at + 1);
        open_quote |= close == std::string_view::npos;
        at = std::min(close, text.size() - 1);
        break;
      }
      case Letter::open: ++depth; break;
      case Letter::close: --depth; break;
    }
  }
  return at;
}

}  // namespace

bool is_symbol_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.';
}

bool is_symbol_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), is_symbol_letter);
}

void scan_line(std::string_view text, const Place& place, Line& line) {
  line.place = place;
  line.text = text;
  line.label.reset();
  line.words.clear();
  line.open_quote = false;
  std::size_t at = 0;
  while (at < text.size() && is_blank(text[at])) ++at;
  std::size_t end = at;
  while (end < text.size() && is_label_letter(text[end])) ++end;
  // A colon inside a word belongs to an operand, as in uop=0:4; a label's is followed by a blank, a comment or the end
  // of the line.
  if (end > at && end < text.size() && text[end] == ':' &&
      (end + 1 == text.size() || is_blank(text[end + 1]) || begins_comment(text, end + 1))) {
    line.label = Word{text.substr(at, end - at), at + 1};
    at = end + 1;
  }
  bool commas = false;
  for (;;) {
    while (at < text.size() && (is_blank(text[at]) || (commas && text[at] == ','))) ++at;
    if (at == text.size() || begins_comment(text, at)) return;
    end = end_of_word(text, at, commas, line.open_quote);
    line.words.push_back({text.substr(at, end - at), at + 1});
    commas = line.words.front().text.front() == '.' && line.words.front().text != ".config";
    at = end;
  }
}

void split(Word word, char separator, std::vector<Word>& pieces) {
  pieces.clear();
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= word.text.size(); ++i) {
    if (i < word.text.size()) {
      if (word.text[i] == '(') ++depth;
      if (word.text[i] == ')') --depth;
      if (word.text[i] != separator || depth > 0) continue;
    }
    pieces.push_back({word.text.substr(begin, i - begin), word.column + begin});
    begin = i + 1;
  }
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

void Errors::add(const Place& place, std::size_t column, std::string why, std::string hint) {
  if (errors_.size() >= kMaxErrors) {
    ++suppressed_;
    return;
  }
  std::string where = place.substituted ? fmt::format("{}:{}", where_, place.line)
                                        : fmt::format("{}:{}:{}", where_, place.line, column);
  std::size_t uses = 0;
  for (const Expansion* within = place.within; within != nullptr; within = within->parent)
    if (++uses <= kShownUses || within->parent == nullptr)
      where +=
          fmt::format("{} in {} at {}:{}", uses > kShownUses + 1 ? ", ...," : ",", within->name, where_, within->line);
  errors_.push_back({place.order, {"cannot assemble", std::move(where), std::move(why), std::move(hint)}});
}

void Errors::roll_back(std::size_t count) {
  if (errors_.size() > count) errors_.erase(errors_.begin() + static_cast<std::ptrdiff_t>(count), errors_.end());
  suppressed_ = count - errors_.size();
}

Diagnostics Errors::take() {
  std::stable_sort(errors_.begin(), errors_.end(), [](const Entry& a, const Entry& b) { return a.order < b.order; });
  Diagnostics diagnostics;
  for (Entry& entry : errors_) diagnostics.push_back(std::move(entry.error));
  if (suppressed_ > 0)
    diagnostics.push_back({"cannot assemble", where_,
                           fmt::format("{} more errors follow the {} above", suppressed_, kMaxErrors),
                           "fix these first"});
  return diagnostics;
}

}  // namespace dovetail::isa::text
