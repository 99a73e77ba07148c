#include "isa/text/operands.h"

#include <utility>

#include <fmt/format.h>

#include "isa/nearest.h"
#include "isa/text/expression.h"

namespace dovetail::isa::text {

void Operands::begin(const Line& line, std::size_t first, bool may_wait) {
  line_ = &line;
  may_wait_ = may_wait;
  waits_ = false;
  entries_.clear();
  known_.clear();
  for (std::size_t i = first; i < line.words.size(); ++i) {
    const Word word = line.words[i];
    const std::size_t equals = word.text.find('=');
    Entry entry{{word.text.substr(0, equals), word.column}, std::nullopt};
    if (equals != std::string_view::npos) entry.value = word.from(equals + 1);
    for (const Entry& earlier : entries_)
      if (earlier.key.text == entry.key.text)
        errors_.add(line, word.column, fmt::format("`{}` occurs twice", entry.key.text), "remove one of the two");
    entries_.push_back(entry);
  }
}

std::optional<Word> Operands::take(std::string_view key) {
  known_.push_back(key);
  std::optional<Word> value;
  for (Entry& entry : entries_) {
    if (entry.key.text != key || entry.taken) continue;
    entry.taken = true;
    if (value) continue;  // a duplicate, reported already
    if (entry.value) value = entry.value;
    else {
      errors_.add(*line_, entry.key.column, fmt::format("`{}` has no value", key), fmt::format("write {}=...", key));
      value = Word{{}, 0};
    }
  }
  if (value && value->column == 0) return std::nullopt;
  return value;
}

bool Operands::flag(std::string_view key, bool& value) {
  known_.push_back(key);
  bool present = false;
  for (Entry& entry : entries_) {
    if (entry.key.text != key || entry.taken) continue;
    entry.taken = true;
    present = true;
    if (entry.value)
      errors_.add(*line_, entry.value->column, fmt::format("`{}` accepts no value", key),
                  fmt::format("write {} alone", key));
  }
  value = value || present;
  return present;
}

void Operands::require(bool present, std::string_view key, std::string_view form) {
  if (present) return;
  for (const Entry& entry : entries_)
    if (entry.key.text == key) return;  // present without a value, and reported
  errors_.add(*line_, line_->words.front().column, fmt::format("`{}` is missing", key),
              fmt::format("add {}={}", key, form));
}

void Operands::finish() {
  for (const Entry& entry : entries_)
    if (!entry.taken)
      errors_.add(*line_, entry.key.column,
                  fmt::format("{} has no operand `{}`", line_->words.front().text, entry.key.text),
                  suggestion(entry.key.text, known_));
}

void Operands::wrong_form(Word word, std::string_view key, std::string_view form) {
  errors_.add(*line_, word.column, fmt::format("`{}` is not of the form {}", word.text, form),
              fmt::format("write {}={}", key, form));
}

void Operands::cut(Word word, char separator) {
  if (separator == 'x' && word.text.find(',') != std::string_view::npos) {
    split(word, ',', pieces_);
    if (pieces_.size() > 1) return;
  }
  if (separator == '\0') pieces_.assign(1, word);
  else split(word, separator, pieces_);
}

std::optional<Value> Operands::value_of(Word word) {
  ExpressionFault fault;
  const auto value = evaluate(word, symbols_, fault);
  if (value) return value;
  if (may_wait_ && fault.is_undefined) waits_ = true;
  else report(std::move(fault), *line_, false, errors_);
  return std::nullopt;
}

bool Operands::place(std::string_view key, std::uint64_t element_bytes, std::uint64_t& value) {
  const std::optional<Word> word = take(key);
  if (!word) return false;
  if (const auto plain = parse_number(word->text)) {
    value = *plain;
    return true;
  }
  const auto computed = value_of(*word);
  if (!computed) return true;
  const auto number = static_cast<std::uint64_t>(computed->number);
  if (computed->number < 0)
    errors_.add(*line_, word->column, fmt::format("{} = {} < 0", key, computed->number), "name a place in the image");
  else if (!computed->is_address) value = number;
  else if (number % element_bytes != 0)
    errors_.add(*line_, word->column,
                fmt::format("`{}` is byte address {:#x}, not a multiple of the {} bytes of an element of this memory",
                            word->text, number, element_bytes),
                fmt::format("align it: align={} in its .data or .space, or .align {}", element_bytes, element_bytes));
  else value = number / element_bytes;
  return true;
}

std::optional<std::uint64_t> Operands::in_range(Word word, std::string_view key, std::string_view form,
                                                std::int64_t minimum, std::uint64_t maximum) {
  bool negative = word.text.starts_with('-');
  auto magnitude = parse_number(negative ? word.text.substr(1) : word.text);
  if (!magnitude) {
    if (word.text.empty()) {
      errors_.add(*line_, word.column, fmt::format("`{}` lacks a number", key), fmt::format("write {}={}", key, form));
      return std::nullopt;
    }
    const auto value = value_of(word);
    if (!value) return std::nullopt;
    if (value->is_address) {
      errors_.add(*line_, word.column, fmt::format("`{}` is a byte address, and {} counts elements", word.text, key),
                  "only dram accepts an address; elsewhere use differences of addresses and .bytes, divided by the "
                  "bytes of an element");
      return std::nullopt;
    }
    negative = value->number < 0;
    const auto bits = static_cast<std::uint64_t>(value->number);
    magnitude = negative ? std::uint64_t{0} - bits : bits;
  }
  const std::uint64_t least =
      minimum < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(minimum) : 0;  // magnitude of the minimum
  if (*magnitude > (negative ? least : maximum)) {
    const std::string number = fmt::format("{}{}", negative ? "-" : "", *magnitude);
    errors_.add(*line_, word.column,
                negative ? fmt::format("{} = {} < {}, the least", key, number, minimum)
                         : fmt::format("{} = {} > {}, the most", key, number, maximum),
                fmt::format("write a number from {} to {}", minimum, maximum));
    return std::nullopt;
  }
  return negative ? std::uint64_t{0} - *magnitude : *magnitude;
}

}  // namespace dovetail::isa::text
