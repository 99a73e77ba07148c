#include "compiler/tune/search.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/tune/search/all.h"

namespace dovetail::tune {

namespace {

// clang-format off
constexpr std::array<SearchRow, 5> kSearches{{
    {"guided", "variations of the best and random draws, in the order of the ranking, as AutoTVM (Chen et al., NeurIPS 2018)", true, make_guided},
    {"random", "distinct uniform draws", false, make_random},
    {"annealing", "several Metropolis chains, one decision changed at a time, as FlexFlow (Jia et al., MLSys 2019)", false, make_annealing},
    {"evolutionary", "mutation and crossover of the best measured, as Ansor (Zheng et al., OSDI 2020) without its cost model", false, make_evolutionary},
    {"beam", "decision by decision, keeping the best prefixes, as Halide's tree search (Adams et al., SIGGRAPH 2019)", false, make_beam},
}};
// clang-format on

}  // namespace

std::span<const SearchRow> searches() { return kSearches; }

Result<const SearchRow*> find_search(std::string_view name) {
  const auto row = std::ranges::find(kSearches, name, &SearchRow::name);
  if (row != kSearches.end()) return &*row;
  std::string names;
  for (const SearchRow& each : kSearches) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return Diagnostic{"cannot search", std::string(name), "there is no search of this name", "choose one of " + names};
}

}  // namespace dovetail::tune
