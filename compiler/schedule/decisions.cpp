#include "compiler/schedule/decisions.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/schedule/nest.h"

namespace dovetail::schedule {

namespace {

constexpr std::string_view kSample = "sample";

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Diagnostic undecided(std::string_view name, const std::vector<Decision>& decisions) {
  std::vector<std::string_view> names;
  for (const Decision& decision : decisions) names.push_back(decision.name);
  return refuse("use", fmt::format("${}", name), "no sample decided it before",
                names.empty() ? "write `sample NAME among 4,8,16` first"
                              : fmt::format("the decisions are {}", fmt::join(names, ", ")));
}

}  // namespace

bool is_decision_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_character);
}

Result<std::vector<std::int64_t>> parse_candidates(std::string_view name, std::string_view text) {
  std::vector<std::int64_t> candidates;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const auto value = require_integer(text.substr(0, comma), 1, fmt::format("a candidate of {}", name), kSample);
    if (!value.ok()) return value.errors();
    candidates.push_back(*value);
    if (more) text.remove_prefix(comma + 1);
  }
  return candidates;
}

Result<std::int64_t> require_candidate(std::string_view name, const std::vector<std::int64_t>& candidates,
                                       std::string_view value) {
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](std::int64_t candidate) { return std::to_string(candidate) == value; });
  if (found == candidates.end())
    return refuse(kSample, name, fmt::format("{} is not among its candidates", value),
                  fmt::format("choose one of {}", fmt::join(candidates, ", ")));
  return *found;
}

std::vector<Decision> decisions_of(std::span<const Step> trace) {
  std::vector<Decision> decisions;
  for (const Step& step : trace) {
    if (step.primitive != kSample || step.arguments.size() != 5) continue;
    const auto candidates = parse_candidates(step.arguments[0], step.arguments[2]);
    if (!candidates.ok()) continue;
    if (const auto value = require_candidate(step.arguments[0], *candidates, step.arguments[4]); value.ok())
      decisions.push_back({step.arguments[0], *candidates, *value});
  }
  return decisions;
}

Result<Step> resolve(const Step& step, std::span<const Step> trace) {
  const std::vector<Decision> decisions = decisions_of(trace);
  const auto find = [&](std::string_view name) {
    return std::find_if(decisions.begin(), decisions.end(),
                        [&](const Decision& decision) { return decision.name == name; });
  };
  if (step.primitive == kSample) {
    if (const auto earlier = find(step.arguments[0]); earlier != decisions.end())
      return refuse(kSample, step.arguments[0], fmt::format("it is decided already, as {}", earlier->value),
                    "choose another name");
    return step;
  }
  Step resolved = step;
  for (std::string& word : resolved.arguments)
    for (std::size_t at = word.find('$'); at != std::string::npos; at = word.find('$', at)) {
      const auto end =
          std::find_if_not(word.begin() + static_cast<std::ptrdiff_t>(at) + 1, word.end(), is_name_character);
      const std::string name(word.begin() + static_cast<std::ptrdiff_t>(at) + 1, end);
      const auto decision = find(name);
      if (decision == decisions.end()) return undecided(name, decisions);
      const std::string value = std::to_string(decision->value);
      word.replace(at, name.size() + 1, value);
      at += value.size();
    }
  return resolved;
}

Result<std::vector<Step>> with_decision(std::span<const Step> trace, std::string_view name, std::int64_t value) {
  std::vector<Step> changed(trace.begin(), trace.end());
  for (const Decision& decision : decisions_of(trace)) {
    if (decision.name != name) continue;
    DOVETAIL_TRY(require_candidate(name, decision.candidates, std::to_string(value)));
    for (Step& step : changed)
      if (step.primitive == kSample && step.arguments[0] == name) step.arguments[4] = std::to_string(value);
    return changed;
  }
  return undecided(name, decisions_of(trace));
}

}  // namespace dovetail::schedule
