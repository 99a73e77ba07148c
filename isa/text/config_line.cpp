#include "isa/text/config_line.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "isa/nearest.h"
#include "isa/spec/config.h"

namespace dovetail::isa::text {

namespace {

std::string_view key_of(Word word) { return word.text.substr(0, word.text.find('=')); }

// Reads one `parameter=value` into `config`.
void parse_parameter(Word word, const Line& line, HardwareConfig& config, Errors& errors) {
  const std::string_view key = key_of(word);
  const Word value = word.from(key.size() + 1);
  for (const spec::Parameter& row : spec::kParameters) {
    if (row.key != key) continue;
    const auto number = parse_number(value.text);
    if (number && *number <= INT64_MAX) config.*row.member = static_cast<std::int64_t>(*number);
    else
      errors.add(line, value.column, fmt::format("`{}` is not a number", value.text), fmt::format("write {}=N", key));
    return;
  }
  for (const spec::Extension& row : spec::kExtensions) {
    if (row.key != key) continue;
    if (value.text == "true" || value.text == "false") config.*row.member = value.text == "true";
    else
      errors.add(line, value.column, fmt::format("`{}` is neither true nor false", value.text),
                 fmt::format("write {}=true", key));
    return;
  }
  std::vector<std::string_view> keys;
  for (const spec::Parameter& row : spec::kParameters) keys.push_back(row.key);
  for (const spec::Extension& row : spec::kExtensions) keys.push_back(row.key);
  errors.add(line, word.column, fmt::format("no parameter `{}`", key), suggestion(key, keys));
}

bool same_parameters(const HardwareConfig& a, HardwareConfig b) {
  b.name = a.name;
  return a == b;
}

// A configuration's name is not in the line: this is the name of the configuration with these values.
std::string name_of(const HardwareConfig& config) {
  for (const HardwareConfig& named : named_configs())
    if (same_parameters(config, named)) return named.name;
  return "custom";
}

void compare(const HardwareConfig& config, const HardwareConfig& expected, const Line& line, Errors& errors) {
  const auto differ = [&](std::string_view key, const auto& here, const auto& there) {
    if (here == there) return;
    errors.add(
        line, line.words.front().column,
        fmt::format("made for {} = {}, but {} is requested, where {} = {}", key, here, expected.name, key, there),
        "assemble for the configuration of the file, or adapt the file");
  };
  for (const spec::Parameter& row : spec::kParameters) differ(row.key, config.*row.member, expected.*row.member);
  for (const spec::Extension& row : spec::kExtensions) differ(row.key, config.*row.member, expected.*row.member);
}

}  // namespace

std::optional<HardwareConfig> parse_config_line(const Line& line, const std::optional<HardwareConfig>& expected,
                                                Errors& errors) {
  const std::size_t before = errors.count();
  HardwareConfig config;
  std::size_t first = 1;
  const bool is_named = line.words.size() > 1 && line.words[1].text.find('=') == std::string_view::npos;
  if (is_named) {
    const auto& all = named_configs();
    const auto named =
        std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.name == line.words[1].text; });
    if (named != all.end()) config = *named;
    else {
      std::vector<std::string_view> names;
      for (const HardwareConfig& row : all) names.push_back(row.name);
      errors.add(line, line.words[1].column, fmt::format("no configuration `{}`", line.words[1].text),
                 suggestion(line.words[1].text, names));
    }
    first = 2;
  }
  for (std::size_t i = first; i < line.words.size(); ++i) {
    const Word word = line.words[i];
    if (word.text.find('=') == std::string_view::npos)
      errors.add(line, word.column, fmt::format("`{}` is not a setting", word.text), "write parameter=value");
    else parse_parameter(word, line, config, errors);
    for (std::size_t j = first; j < i; ++j)
      if (key_of(line.words[j]) == key_of(word))
        errors.add(line, word.column, fmt::format("`{}` occurs twice", key_of(word)), "remove one of the two");
  }
  if (errors.count() != before) return std::nullopt;

  config.name = name_of(config);
  const Result<void> valid = validate(config);
  for (const Diagnostic& error : valid.errors())
    errors.add(line, line.words.front().column, fmt::format("{}: {}", error.where, error.why), error.hint);
  if (expected) {
    compare(config, *expected, line, errors);
    config.name = expected->name;
  }
  if (errors.count() != before) return std::nullopt;
  return config;
}

}  // namespace dovetail::isa::text
