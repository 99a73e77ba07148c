#include "explore/replay/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace dovetail::explore {

namespace {

constexpr std::string_view kFirstLine = "dovetail tuning table 1";
constexpr std::string_view kAll = "all", kSample = "a sample", kNotSampled = "-";
constexpr std::array<std::string_view, 6> kHeader{"name", "task", "sketch", "machine", "unit", "holds"};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view where) : rest_(text), where_(where) {}

  Result<Table> parse() {
    if (next() != kFirstLine) return refuse(fmt::format("the file does not begin with \"{}\"", kFirstLine));
    Table table;
    for (const std::string_view key : kHeader) DOVETAIL_TRY(take_header(key, table));
    table.decisions = words_of(next());
    if (table.decisions.empty() || table.decisions.front() != "cost")
      return refuse("the line of column names does not begin with \"cost\"");
    table.decisions.erase(table.decisions.begin());
    while (!rest_.empty()) {
      DOVETAIL_ASSIGN(TableRow row, take_row(table));
      table.rows.push_back(std::move(row));
    }
    if (table.rows.empty() || table.rows.front().outcome != tune::Outcome::measured)
      return refuse("its first row must be the measured default schedule");
    return table;
  }

 private:
  std::string_view next() {
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line;
  }

  Diagnostic refuse(std::string why) const {
    return {"cannot read a tuning table", fmt::format("{}:{}", where_, line_), std::move(why),
            "measure it again: ./dev tuning tables"};
  }

  Result<void> take_header(std::string_view key, Table& table) {
    const std::string_view line = next();
    if (!line.starts_with(key) || line.size() <= key.size() + 1 || line[key.size()] != ' ')
      return refuse(fmt::format("expected \"{} ...\", found \"{}\"", key, line));
    const std::string value(line.substr(key.size() + 1));
    if (key == "name") table.name = value;
    if (key == "task") table.task = value;
    if (key == "machine") table.machine = value;
    if (key == "unit") table.unit = value;
    if (key == "holds") {
      if (value != kAll && value != kSample)
        return refuse(fmt::format("expected \"holds {}\" or \"holds {}\"", kAll, kSample));
      table.whole = value == kAll;
    }
    if (key == "sketch") {
      const auto version = number<int>(value);
      if (!version) return refuse(fmt::format("the version {} is not a number", value));
      table.sketch_version = *version;
    }
    return {};
  }

  Result<TableRow> take_row(const Table& table) {
    const std::string_view line = next();
    const std::vector<std::string> words = words_of(line);
    if (words.size() != table.decisions.size() + 1)
      return refuse(
          fmt::format("a row has {} words, but there are {} columns", words.size(), table.decisions.size() + 1));
    TableRow row;
    if (const auto outcome = tune::outcome_named(words.front()); outcome && *outcome != tune::Outcome::measured) {
      row.outcome = *outcome;
      row.cost = std::numeric_limits<double>::infinity();
    } else {
      const auto cost = number<double>(words.front());
      if (!cost || !std::isfinite(*cost) || *cost <= 0)
        return refuse(fmt::format("{} is neither a cost nor an outcome", words.front()));
      row.cost = *cost;
    }
    for (std::size_t i = 0; i < table.decisions.size(); ++i)
      if (words[i + 1] != kNotSampled) row.decisions.emplace(table.decisions[i], words[i + 1]);
    return row;
  }

  std::string_view rest_;
  std::string where_;
  int line_ = 0;
};

}  // namespace

std::string to_string(const Table& table) {
  std::string text =
      fmt::format("{}\nname {}\ntask {}\nsketch {}\nmachine {}\nunit {}\nholds {}\ncost", kFirstLine, table.name,
                  table.task, table.sketch_version, table.machine, table.unit, table.whole ? kAll : kSample);
  for (const std::string& name : table.decisions) text += " " + name;
  text += "\n";
  for (const TableRow& row : table.rows) {
    text += row.outcome == tune::Outcome::measured ? fmt::format("{}", row.cost)
                                                   : std::string(tune::to_string(row.outcome));
    for (const std::string& name : table.decisions) {
      const auto value = row.decisions.find(name);
      text += fmt::format(" {}", value == row.decisions.end() ? kNotSampled : std::string_view(value->second));
    }
    text += "\n";
  }
  return text;
}

Result<Table> parse_table(std::string_view text, std::string_view where) { return Parser(text, where).parse(); }

}  // namespace dovetail::explore
