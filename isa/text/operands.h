// The operands of one line: `key=value` words and bare flags, consumed by the parser of the instruction. An operand
// that is not consumed is an error.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/text/scan.h"
#include "isa/text/symbols.h"

namespace dovetail::isa::text {

class Operands {
 public:
  // Both arguments must outlive this object.
  Operands(const Symbols& symbols, Errors& errors) : symbols_(symbols), errors_(errors) {}

  // The operands are `line.words[first...]`; `line` must live until finish(). `may_wait`: a name that is not defined
  // yet is not an error; waits() then returns true.
  void begin(const Line& line, std::size_t first, bool may_wait);
  bool waits() const { return waits_; }

  // Each returns whether the operand is in the line (well-formed or not), and remembers the key as known. A value that
  // does not fit T is an error.
  template <std::integral T>
  bool number(std::string_view key, T& value) {
    return numbers(key, '\0', "N", {&value});
  }
  // `count` values between separators, e.g. size=4x8; `form` shows the syntax in errors. Commas always separate, so
  // that names may contain an `x`.
  template <std::integral T>
  bool numbers(std::string_view key, char separator, std::string_view form, std::initializer_list<T*> values) {
    const std::optional<Word> word = take(key);
    if (!word) return false;
    cut(*word, separator);
    if (pieces_.size() != values.size()) {
      wrong_form(*word, key, form);
      return true;
    }
    std::size_t index = 0;
    for (T* value : values)
      if (const auto parsed =
              in_range(pieces_[index++], key, form, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()))
        *value = static_cast<T>(*parsed);
    return true;
  }
  // A DRAM address in elements of the given size in bytes; byte addresses are divided by it.
  bool place(std::string_view key, std::uint64_t element_bytes, std::uint64_t& value);
  bool flag(std::string_view key, bool& value);

  // Reports a missing operand.
  void require(bool present, std::string_view key, std::string_view form);
  // Reports operands that were not consumed.
  void finish();

 private:
  struct Entry {
    Word key;
    std::optional<Word> value;
    bool taken = false;
  };

  std::optional<Word> take(std::string_view key);
  void cut(Word word, char separator);
  void wrong_form(Word word, std::string_view key, std::string_view form);
  // The value's bits in two's complement where `minimum` is negative.
  std::optional<std::uint64_t> in_range(Word word, std::string_view key, std::string_view form, std::int64_t minimum,
                                        std::uint64_t maximum);
  std::optional<Value> value_of(Word word);

  const Symbols& symbols_;
  Errors& errors_;
  const Line* line_ = nullptr;
  bool may_wait_ = false, waits_ = false;
  std::vector<Entry> entries_;
  std::vector<std::string_view> known_;
  std::vector<Word> pieces_;
};

}  // namespace dovetail::isa::text
