// Lines and words of assembly text, with the columns that diagnostics name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace dovetail::isa::text {

// A stretch of the source without blanks. Columns count bytes from 1.
struct Word {
  std::string_view text;
  std::size_t column = 1;

  Word from(std::size_t offset) const { return {text.substr(offset), column + offset}; }
};

struct Line {
  std::size_t number = 1;
  std::optional<Word> label;  // without its colon
  std::vector<Word> words;    // directive or mnemonic first
};

// Cuts one line: the comment off, the label from the rest. Commas count as blanks after `.uop` only.
Line scan_line(std::string_view line, std::size_t number);

// Pieces between separators; always one more than there are separators.
std::vector<Word> split(Word word, char separator);

// "12", "0x40", "1_000"; nothing for other text or beyond 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

// Errors of a file, in the order they are found. Beyond a hundred they are only counted.
class Errors {
 public:
  explicit Errors(std::string_view where) : where_(where) {}

  void add(std::size_t line, std::size_t column, std::string why, std::string hint);
  bool empty() const { return errors_.empty(); }
  std::size_t count() const { return errors_.size() + suppressed_; }
  Diagnostics take();

 private:
  std::string where_;
  Diagnostics errors_;
  std::size_t suppressed_ = 0;
};

}  // namespace dovetail::isa::text
