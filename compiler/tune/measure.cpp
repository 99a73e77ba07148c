#include "compiler/tune/measure.h"

#include <utility>

namespace dovetail::tune {

namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, kOutcomes.size()> kOutcomeNames{
    {{Outcome::measured, "measured"},
     {Outcome::refused, "refused"},
     {Outcome::wrong, "wrong"},
     {Outcome::crashed, "crashed"},
     {Outcome::timed_out, "timed_out"}}};

}  // namespace

std::string_view to_string(Outcome outcome) {
  for (const auto& [value, name] : kOutcomeNames)
    if (value == outcome) return name;
  return "";
}

std::optional<Outcome> outcome_named(std::string_view name) {
  for (const auto& [value, known] : kOutcomeNames)
    if (known == name) return value;
  return std::nullopt;
}

}  // namespace dovetail::tune
