#include "compiler/tune/record_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace dovetail::tune {

namespace {

template <std::string Record::*kMember>
bool set_text(Record& record, const Json& value) {
  if (!value.is_string()) return false;
  record.*kMember = value.get<std::string>();
  return true;
}

template <int Record::*kMember>
bool set_count(Record& record, const Json& value) {
  if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<int>::max()) return false;
  record.*kMember = value.get<int>();
  return true;
}

template <double Record::*kMember>
Json get_cost(const Record& record) {
  return std::isinf(record.*kMember) ? Json() : Json(record.*kMember);
}

template <double Record::*kMember>
bool set_cost(Record& record, const Json& value) {
  if (!value.is_number() && !value.is_null()) return false;
  record.*kMember = value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
  return true;
}

bool set_decisions(Record& record, const Json& value) {
  if (!value.is_object()) return false;
  record.decisions.clear();
  for (const auto& [name, decision] : value.items()) {
    if (!decision.is_string()) return false;
    record.decisions[name] = decision.get<std::string>();
  }
  return true;
}

bool set_features(Record& record, const Json& value) {
  if (!value.is_array()) return false;
  record.features.clear();
  for (const Json& feature : value) {
    if (!feature.is_number()) return false;
    record.features.push_back(feature.get<double>());
  }
  return true;
}

bool set_outcome(Record& record, const Json& value) {
  const auto outcome = value.is_string() ? outcome_named(value.get<std::string>()) : std::nullopt;
  if (outcome) record.outcome = *outcome;
  return outcome.has_value();
}

template <auto kMember>
Json get(const Record& record) {
  return record.*kMember;
}
template <std::string Record::*kMember>
constexpr RecordField text_field(std::string_view name, bool is_key = false) {
  return {name, FieldForm::text, is_key, get<kMember>, set_text<kMember>};
}
template <int Record::*kMember>
constexpr RecordField count_field(std::string_view name, bool is_key = false) {
  return {name, FieldForm::count, is_key, get<kMember>, set_count<kMember>};
}
template <double Record::*kMember>
constexpr RecordField cost_field(std::string_view name) {
  return {name, FieldForm::cost, false, get_cost<kMember>, set_cost<kMember>};
}

// Long fields are last: a query of only the fields before them does not load their pages. A new field means a new
// kRecordVersion.
constexpr std::array<RecordField, 18> kFields{{
    text_field<&Record::task>("task", true),
    text_field<&Record::machine>("machine", true),
    text_field<&Record::target>("target"),
    text_field<&Record::kind>("kind"),
    text_field<&Record::name>("name"),
    count_field<&Record::sketch_version>("sketch_version", true),
    {"decisions", FieldForm::words, true, get<&Record::decisions>, set_decisions},
    text_field<&Record::unit>("unit"),
    {"outcome", FieldForm::text, false, [](const Record& record) { return Json(to_string(record.outcome)); },
     set_outcome},
    cost_field<&Record::cost>("cost"),
    cost_field<&Record::default_cost>("default_cost"),
    text_field<&Record::why>("why"),
    text_field<&Record::search>("search"),
    text_field<&Record::time>("time"),
    {"conditions", FieldForm::text, false, get<&Record::conditions>, set_text<&Record::conditions>, 2},
    count_field<&Record::feature_version>("feature_version"),
    {"features", FieldForm::numbers, false, get<&Record::features>, set_features},
    text_field<&Record::trace>("trace"),
}};

// "2026-07-01T12:00:00Z"
bool is_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  return std::ranges::equal(text, kForm,
                            [](char c, char form) { return form == 'd' ? c >= '0' && c <= '9' : c == form; });
}

bool is_utf8(const Json& value) {
  try {
    return !value.dump().empty();
  } catch (const Json::type_error&) {
    return false;
  }
}

bool is_positive(double cost) { return cost > 0 && std::isfinite(cost); }

}  // namespace

std::span<const RecordField> record_fields() { return kFields; }

std::string_view expectation(FieldForm form) {
  switch (form) {
    case FieldForm::text: return "a string";
    case FieldForm::count: return "an integer >= 0";
    case FieldForm::cost: return "a number, or null if nothing was measured";
    case FieldForm::words: return "an object of strings";
    case FieldForm::numbers: return "an array of numbers";
  }
  return "";
}

Result<void> check_record(const Record& record, std::string_view what, std::string_view where) {
  Diagnostics problems;
  const auto report = [&](std::string why, std::string hint) {
    problems.push_back({std::string(what), std::string(where), std::move(why), std::move(hint)});
  };
  for (const auto& [key, value] : {std::pair{"task", &record.task}, {"machine", &record.machine}})
    if (value->empty()) report(fmt::format("\"{}\" is empty", key), "name the measured task");
  if (record.outcome == Outcome::measured && !is_positive(record.cost))
    report(fmt::format("the outcome is measured, but the cost is {}", record.cost), "a cost must be greater than 0");
  if (record.outcome != Outcome::measured && !(std::isinf(record.cost) && record.cost > 0))
    report(fmt::format("the outcome is {}, but the cost is {}", to_string(record.outcome), record.cost),
           "the cost must be null unless the outcome is measured");
  if (!is_positive(record.default_cost) && !(std::isinf(record.default_cost) && record.default_cost > 0))
    report(fmt::format("the cost of the default is {}", record.default_cost), "a cost must be greater than 0, or null");
  if (!is_utf8(record.decisions)) report("a decision is not UTF-8", "name loops and blocks in UTF-8");
  for (const double feature : record.features)
    if (!std::isfinite(feature)) {
      report(fmt::format("a feature is {}", feature), "features must be finite");
      break;
    }
  if (!record.time.empty() && !is_time(record.time))
    report(fmt::format("the time is \"{}\"", record.time),
           "write it as 2026-07-01T12:00:00Z, in UTC, or leave it empty");
  return problems;
}

}  // namespace dovetail::tune
