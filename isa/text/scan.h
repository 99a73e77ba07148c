// Lines and words of assembly text, with source locations for diagnostics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace dovetail::isa::text {

// A word: a range of the source without blanks, or with blanks only inside brackets or quotes. Columns count bytes from
// 1.
struct Word {
  std::string_view text;
  std::size_t column = 1;

  Word from(std::size_t offset) const { return {text.substr(offset), column + offset}; }
};

// One use of a macro, or one iteration of a `.repeat`.
struct Expansion {
  std::string name;                   // "macro `tile`", "round 3 of `.repeat`"
  std::size_t line = 1;               // line of the use
  const Expansion* parent = nullptr;  // set if the use is itself in an expansion
};

// A line's location in the source.
struct Place {
  std::size_t line = 1;
  const Expansion* within = nullptr;
  bool substituted = false;  // columns refer to the text after substitution, which the file does not contain
  std::size_t order = 0;     // the line's position in the expanded text
};

struct Line {
  Place place;
  std::string_view text;
  std::optional<Word> label;  // without its colon
  std::vector<Word> words;    // directive or mnemonic first
  bool open_quote = false;    // a quotation mark is not closed
};

// Splits one line: removes the comment, and separates the label from the rest. Commas count as blanks in directives,
// other than `.config`.
void scan_line(std::string_view text, const Place& place, Line& line);

// The parts between separators outside brackets; always one more than there are separators.
void split(Word word, char separator, std::vector<Word>& pieces);

// Letters, digits, `_` and `.`, not beginning with a digit: what an expression accepts as a name.
bool is_symbol_name(std::string_view text);
bool is_symbol_letter(char letter);

// "12", "0x40", "1_000"; nullopt for other text or beyond 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

// Errors of a file, in the order of its expanded lines. Errors beyond a hundred are only counted.
class Errors {
 public:
  explicit Errors(std::string_view where) : where_(where) {}

  void add(const Place& place, std::size_t column, std::string why, std::string hint);
  void add(const Line& line, std::size_t column, std::string why, std::string hint) {
    add(line.place, column, std::move(why), std::move(hint));
  }
  bool empty() const { return errors_.empty(); }
  bool full() const { return suppressed_ > 0; }
  std::size_t count() const { return errors_.size() + suppressed_; }
  // Removes the errors added since count() was `count`.
  void roll_back(std::size_t count);
  Diagnostics take();

 private:
  struct Entry {
    std::size_t order;
    Diagnostic error;
  };
  std::string where_;
  std::vector<Entry> errors_;
  std::size_t suppressed_ = 0;
};

}  // namespace dovetail::isa::text
