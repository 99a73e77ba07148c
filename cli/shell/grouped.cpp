#include "cli/shell/grouped.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail::cli {

namespace {

constexpr std::size_t kMostNames = 4;  // of places, the first one not counted

// Every number becomes 0: 508, 2,048, 0.25, 1e-05.
std::string without_numbers(std::string_view text) {
  const auto is_digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_digit(i)) {
      result += text[i];
      continue;
    }
    result += '0';
    for (bool goes_on = true; goes_on;) {
      while (is_digit(i + 1)) ++i;
      goes_on = i + 1 < text.size() && (text[i + 1] == '.' || text[i + 1] == ',') && is_digit(i + 2);
      if (goes_on) ++i;
    }
    const bool exponent = i + 2 < text.size() && text[i + 1] == 'e' && (text[i + 2] == '-' || text[i + 2] == '+');
    if (!exponent || !is_digit(i + 3)) continue;
    i += 2;
    while (is_digit(i + 1)) ++i;
  }
  return result;
}

}  // namespace

std::vector<std::pair<std::string, std::size_t>> counted(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::size_t>> groups;
  std::map<std::string, std::size_t> known;
  for (const std::string& text : texts) {
    const auto [entry, is_new] = known.emplace(without_numbers(text), groups.size());
    if (is_new) groups.emplace_back(text, 0);
    ++groups[entry->second].second;
  }
  std::ranges::stable_sort(groups, std::greater{}, [](const auto& group) { return group.second; });
  return groups;
}

Diagnostics grouped(const Diagnostics& diagnostics) {
  Diagnostics groups;
  std::vector<std::vector<std::string>> places;
  std::map<std::string, std::size_t> known;
  for (const Diagnostic& each : diagnostics) {
    const std::string key = fmt::format("{}\n{}\n{}\n{}", without_numbers(each.what), without_numbers(each.why),
                                        without_numbers(each.hint), static_cast<int>(each.cause));
    const auto [entry, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.push_back(each), places.emplace_back();
    places[entry->second].push_back(each.where);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t others = places[i].size() - 1;
    if (others == 0) continue;
    std::string& where = groups[i].where;
    const std::vector<std::string> names(
        places[i].begin() + 1, places[i].begin() + 1 + static_cast<std::ptrdiff_t>(std::min(others, kMostNames)));
    if (std::ranges::all_of(places[i], [&](const std::string& place) { return place == where; }))
      where += fmt::format("{}{} times", where.empty() ? "" : ", ", others + 1);
    else where += fmt::format(" and {} more: {}{}", others, fmt::join(names, "; "), others > kMostNames ? "; ..." : "");
  }
  return groups;
}

}  // namespace dovetail::cli
