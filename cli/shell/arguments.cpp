#include "cli/shell/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "driver/targets.h"

namespace dovetail::cli {

namespace {

Diagnostic bad_value(std::string_view option, std::string_view text, std::string why, std::string hint) {
  return {fmt::format("invalid value for {}", option), std::string(text), std::move(why), std::move(hint)};
}

// The whole text as a number; false if it is not a number.
template <typename T>
bool parse_number(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Result<std::uint64_t> parse_address(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (parse_number(hexadecimal ? text.substr(2) : text, hexadecimal ? 16 : 10, value)) return value;
  return bad_value(option, text, "it must be an address below 2^64", "for example 4096 or 0x1000");
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const auto value = parse_address("", text);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

Result<std::int64_t> parse_count(std::string_view option, std::string_view text, std::int64_t least,
                                 std::int64_t most) {
  std::int64_t value = 0;
  if (parse_number(text, 10, value) && value >= least && value <= most) return value;
  return bad_value(option, text, fmt::format("it must be an integer from {} to {}", least, most),
                   "write it in decimal digits");
}

Result<std::vector<isa::Launch>> parse_launches(const std::vector<std::string>& texts, std::size_t program_size) {
  std::vector<isa::Launch> launches;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    isa::Launch launch;
    if (colon == std::string::npos || !parse_number(std::string_view(text).substr(0, colon), 10, launch.begin) ||
        !parse_number(std::string_view(text).substr(colon + 1), 10, launch.count))
      return bad_value("--launch", text, "it is not BEGIN:COUNT",
                       "write the first instruction's index and the number of instructions, for example 0:30");
    if (launch.begin > program_size || launch.count > program_size - launch.begin)
      return bad_value("--launch", text, fmt::format("it exceeds the program's {} instructions", program_size),
                       "launch fewer");
    launches.push_back(launch);
  }
  if (texts.empty()) launches.push_back({0, program_size});
  return launches;
}

Result<std::map<std::string, std::string>> parse_assignments(std::string_view option,
                                                             const std::vector<std::string>& texts) {
  std::map<std::string, std::string> assignments;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return bad_value(option, text, "it is not NAME=VALUE",
                       fmt::format("write {} NAME=VALUE, without spaces", option));
    if (!assignments.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      return bad_value(option, text, fmt::format("{} is given twice", text.substr(0, equals)), "give it once");
  }
  return assignments;
}

Result<std::vector<std::map<std::string, Shape>>> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<Shape>> given;
  std::size_t sets = 1;
  for (const std::string& text : texts) {
    DOVETAIL_ASSIGN(const auto assignment, parse_assignments("--shape", {text}));
    const auto& [name, value] = *assignment.begin();
    Shape shape;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find('x', begin), value.size());
      std::int64_t extent = 0;
      if (!parse_number(std::string_view(value).substr(begin, end - begin), 10, extent) || extent < 1)
        return bad_value("--shape", text, "an extent is not a positive number", "write 1x3x224x224, or batch=1");
      shape.push_back(extent);
      begin = end + 1;
    }
    std::vector<Shape>& shapes = given[name];
    if (std::find(shapes.begin(), shapes.end(), shape) != shapes.end())
      return bad_value("--shape", text, "it is given twice", "give every shape once");
    shapes.push_back(std::move(shape));
    sets = std::max(sets, shapes.size());
  }
  std::vector<std::map<std::string, Shape>> result(sets);
  for (const auto& [name, shapes] : given) {
    if (shapes.size() != 1 && shapes.size() != sets)
      return bad_value("--shape", name, fmt::format("it has {} shapes, another name has {}", shapes.size(), sets),
                       "give each name one shape, or one for each program");
    for (std::size_t i = 0; i < sets; ++i) result[i][name] = shapes[shapes.size() == 1 ? 0 : i];
  }
  return result;
}

Result<std::vector<std::string>> parse_targets(std::string_view option, std::string_view text) {
  std::vector<std::string> targets = split_at_commas(text);
  DOVETAIL_TRY(driver::check_targets(option, targets));
  return targets;
}

Result<std::vector<std::string>> parse_compared_targets(std::string_view text) {
  std::vector<std::string> targets = split_at_commas(text);
  if (auto checked = driver::check_targets("--target", targets); !checked.ok()) {
    Diagnostic error = checked.errors().front();
    error.hint = error.why.ends_with("twice") ? "name each target once, in the order of the rows"
                                              : fmt::format("targets: {}", fmt::join(driver::target_names(), ", "));
    return error;
  }
  return targets;
}

std::vector<std::string> split_configurations(const std::vector<std::string>& values) {
  std::vector<std::string> configurations;
  for (const std::string& value : values) {
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      const std::string part = value.substr(begin, end - begin);
      if (begin > 0 && part.find('=') != part.npos) configurations.back() += "," + part;
      else configurations.push_back(part);
      begin = end + 1;
    }
  }
  return configurations;
}

}  // namespace dovetail::cli
