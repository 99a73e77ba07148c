// Spaces of schedules without programs: numbers are decided, and a formula gives their cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/tune/search.h"
#include "tests/catch.h"

namespace dovetail::test {

using Values = std::map<std::string, std::int64_t>;

struct SyntheticDecision {
  std::string name;
  std::function<std::vector<std::int64_t>(const Values& before)> space;  // empty: the decision is not sampled there
  std::size_t analytic = 0;                                              // position; the last where there are fewer
};

inline SyntheticDecision decision(std::string name, std::vector<std::int64_t> values, std::size_t analytic = 0) {
  return {std::move(name), [values = std::move(values)](const Values&) { return values; }, analytic};
}

class SyntheticSpace final : public tune::SearchSpace {
 public:
  using Cost = std::function<double(const Values&)>;  // infinity: measuring fails
  using Legal = std::function<bool(const Values&)>;   // false: there is no such schedule

  SyntheticSpace(std::vector<SyntheticDecision> decisions, Cost cost, Legal legal = {})
      : decisions_(std::move(decisions)), cost_(std::move(cost)), legal_(std::move(legal)) {}

  Result<tune::Candidate> default_candidate() override {
    SplitMix64 random(0);
    if (auto candidate = complete({}, tune::Rest::analytic, random)) return *std::move(candidate);
    return Diagnostic{"cannot schedule", "synthetic", "no default", ""};
  }

  std::optional<tune::Candidate> complete(const schedule::Decisions& requested, tune::Rest rest,
                                          SplitMix64& random) override {
    ++completed;
    tune::Candidate candidate;
    Values values;
    for (const SyntheticDecision& each : decisions_) {
      const std::vector<std::int64_t> space = each.space(values);
      if (space.empty()) continue;
      std::size_t at = rest == tune::Rest::random ? static_cast<std::size_t>(random.next() % space.size())
                                                  : std::min(each.analytic, space.size() - 1);
      if (const auto given = requested.find(each.name); given != requested.end())
        if (const auto found = std::ranges::find(space, std::stoll(given->second)); found != space.end())
          at = static_cast<std::size_t>(found - space.begin());
      values[each.name] = space[at];
      candidate.sampled.push_back({each.name, schedule::Space::among(space), std::to_string(space[at])});
    }
    if (legal_ && !legal_(values)) return std::nullopt;
    for (const SyntheticDecision& each : decisions_)
      candidate.features.push_back(values.contains(each.name) ? std::log2(1 + static_cast<double>(values[each.name]))
                                                              : -1);
    return candidate;
  }

  double cost(const tune::Candidate& candidate) const {
    Values values;
    for (const schedule::Decision& each : candidate.sampled) values[each.name] = std::stoll(each.value);
    return cost_(values);
  }

  int completed = 0;  // candidates

 private:
  std::vector<SyntheticDecision> decisions_;
  Cost cost_;
  Legal legal_;
};

// Acts as the driver: measures the default, then batch after batch.
struct Searched {
  std::vector<std::string> proposed;
  double best = std::numeric_limits<double>::infinity();  // as a multiple of the default's cost
  std::string best_text;
};
inline Searched search_space(SyntheticSpace& space, tune::Search& search, std::size_t trials, std::size_t batch = 8) {
  Searched result;
  const auto first = space.default_candidate();
  if (!first.ok()) return result;
  const double unit = space.cost(*first);
  search.learn(*first, 1);
  result.best = 1, result.best_text = first->text();
  while (result.proposed.size() < trials) {
    const auto candidates = search.propose(std::min(batch, trials - result.proposed.size()));
    if (candidates.empty()) break;
    for (const tune::Candidate& candidate : candidates) {
      const double cost = space.cost(candidate) / unit;
      result.proposed.push_back(candidate.text());
      search.learn(candidate, cost);
      if (cost < result.best) result.best = cost, result.best_text = candidate.text();
    }
  }
  return result;
}

// All legal combinations, including the default.
inline std::set<std::string> all_candidates(const std::vector<SyntheticDecision>& decisions,
                                            const SyntheticSpace::Legal& legal = {}) {
  std::set<std::string> all;
  const std::function<void(std::size_t, Values)> decide = [&](std::size_t at, const Values& values) {
    if (at == decisions.size()) {
      std::string text;  // by name, as Candidate::text
      for (const auto& [name, value] : values) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
      if (!legal || legal(values)) all.insert(text);
      return;
    }
    const std::vector<std::int64_t> space = decisions[at].space(values);
    if (space.empty()) return decide(at + 1, values);
    for (const std::int64_t value : space) {
      Values more = values;
      more[decisions[at].name] = value;
      decide(at + 1, more);
    }
  };
  decide(0, {});
  return all;
}

}  // namespace dovetail::test
