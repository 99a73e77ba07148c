#include "isa/text/operands.h"

#include <fmt/format.h>

#include "isa/nearest.h"

namespace dovetail::isa::text {

Operands::Operands(const Line& line, std::size_t first, Errors& errors) : line_(line), errors_(errors) {
  for (std::size_t i = first; i < line.words.size(); ++i) {
    const Word word = line.words[i];
    const std::size_t equals = word.text.find('=');
    Entry entry{{word.text.substr(0, equals), word.column}, std::nullopt};
    if (equals != std::string_view::npos) entry.value = word.from(equals + 1);
    for (const Entry& earlier : entries_)
      if (earlier.key.text == entry.key.text)
        errors.add(line.number, word.column, fmt::format("`{}` occurs twice", entry.key.text), "remove one of the two");
    entries_.push_back(entry);
  }
}

std::optional<Word> Operands::take(std::string_view key) {
  known_.push_back(key);
  std::optional<Word> value;
  for (Entry& entry : entries_) {
    if (entry.key.text != key || entry.taken) continue;
    entry.taken = true;
    if (value) continue;  // a repetition, reported already
    if (entry.value) value = entry.value;
    else {
      errors_.add(line_.number, entry.key.column, fmt::format("`{}` has no value", key),
                  fmt::format("write {}=...", key));
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
      errors_.add(line_.number, entry.value->column, fmt::format("`{}` takes no value", key),
                  fmt::format("write {} alone", key));
  }
  value = value || present;
  return present;
}

void Operands::require(bool present, std::string_view key, std::string_view form) {
  if (present) return;
  for (const Entry& entry : entries_)
    if (entry.key.text == key) return;  // there without a value, and reported so
  errors_.add(line_.number, line_.words.front().column, fmt::format("`{}` is missing", key),
              fmt::format("add {}={}", key, form));
}

void Operands::finish() {
  for (const Entry& entry : entries_)
    if (!entry.taken)
      errors_.add(line_.number, entry.key.column,
                  fmt::format("{} has no operand `{}`", line_.words.front().text, entry.key.text),
                  suggestion(entry.key.text, known_));
}

void Operands::wrong_form(Word word, std::string_view key, std::string_view form) {
  errors_.add(line_.number, word.column, fmt::format("`{}` is not of the form {}", word.text, form),
              fmt::format("write {}={}", key, form));
}

std::optional<std::uint64_t> Operands::in_range(Word word, std::string_view key, std::string_view form,
                                                std::int64_t minimum, std::uint64_t maximum) {
  const bool negative = word.text.starts_with('-');
  const auto magnitude = parse_number(negative ? word.text.substr(1) : word.text);
  if (!magnitude) {
    errors_.add(line_.number, word.column, fmt::format("`{}` is no number of up to 64 bits", word.text),
                fmt::format("write {}={}", key, form));
    return std::nullopt;
  }
  const std::uint64_t least =
      minimum < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(minimum) : 0;  // magnitude of the minimum
  if (*magnitude > (negative ? least : maximum)) {
    errors_.add(line_.number, word.column,
                negative ? fmt::format("{} = {} < {}, the least", key, word.text, minimum)
                         : fmt::format("{} = {} > {}, the most", key, word.text, maximum),
                "split the instruction");
    return std::nullopt;
  }
  return negative ? std::uint64_t{0} - *magnitude : *magnitude;
}

}  // namespace dovetail::isa::text
