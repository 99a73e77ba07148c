// The operands of one line: `key=value` words and bare flags, taken by the instruction that knows them. What nobody
// took is an error.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/text/scan.h"

namespace dovetail::isa::text {

class Operands {
 public:
  // `line.words[first...]`; `line` and `errors` must outlive this.
  Operands(const Line& line, std::size_t first, Errors& errors);

  // Each returns whether the operand is in the line (rightly or wrongly written), and remembers the key as known. A
  // value that does not fit T is an error.
  template <std::integral T>
  bool number(std::string_view key, T& value) {
    return numbers(key, '\0', "N", {&value});
  }
  // `count` values between separators, e.g. size=4x8; `form` shows the reader how.
  template <std::integral T>
  bool numbers(std::string_view key, char separator, std::string_view form, std::initializer_list<T*> values) {
    const std::optional<Word> word = take(key);
    if (!word) return false;
    std::vector<Word> pieces = separator == '\0' ? std::vector<Word>{*word} : split(*word, separator);
    if (pieces.size() != values.size()) {
      wrong_form(*word, key, form);
      return true;
    }
    std::size_t index = 0;
    for (T* value : values) {
      const Word& piece = pieces[index++];
      if (const auto parsed = in_range(piece, key, form, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()))
        *value = static_cast<T>(*parsed);
    }
    return true;
  }
  bool flag(std::string_view key, bool& value);

  // A required operand that is missing.
  void require(bool present, std::string_view key, std::string_view form);
  // Reports what was not taken.
  void finish();

 private:
  struct Entry {
    Word key;
    std::optional<Word> value;
    bool taken = false;
  };

  std::optional<Word> take(std::string_view key);
  void wrong_form(Word word, std::string_view key, std::string_view form);
  // The value's bits in two's complement where `minimum` is negative.
  std::optional<std::uint64_t> in_range(Word word, std::string_view key, std::string_view form, std::int64_t minimum,
                                        std::uint64_t maximum);

  const Line& line_;
  Errors& errors_;
  std::vector<Entry> entries_;
  std::vector<std::string_view> known_;
};

}  // namespace dovetail::isa::text
