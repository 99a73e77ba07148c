#include "isa/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace dovetail::isa {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // One row of the dynamic program: row[j] is the distance of a's first i characters to b's first j.
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string suggestion(std::string_view given, std::span<const std::string_view> candidates) {
  // A longer text cannot be a misspelled name, and is not worth a quadratic comparison.
  constexpr std::size_t kLongest = 64;
  if (given.size() <= kLongest) {
    std::string_view best;
    std::size_t best_distance = kLongest;
    for (const std::string_view candidate : candidates)
      if (const std::size_t distance = edit_distance(given, candidate); distance < best_distance) {
        best = candidate;
        best_distance = distance;
      }
    // A name without its end, such as its unit.
    constexpr std::size_t kShortestPart = 3;
    const auto begins = [&](std::string_view candidate) { return candidate.starts_with(given); };
    if (given.size() >= kShortestPart && best_distance > 2 && std::ranges::count_if(candidates, begins) == 1)
      return fmt::format("did you mean `{}`?", *std::ranges::find_if(candidates, begins));
    if (best_distance <= std::max<std::size_t>(2, best.size() / 3)) return fmt::format("did you mean `{}`?", best);
  }
  return fmt::format("use one of {}", fmt::join(candidates, ", "));
}

}  // namespace dovetail::isa
