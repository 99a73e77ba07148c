#include "bundle/checked_json.h"

#include <fmt/format.h>

namespace dovetail::bundle {

void CheckedJson::fail(std::string why) const {
  if (!errors_->empty()) return;
  errors_->push_back(
      {"cannot read bundle", std::string(source_.where),
       fmt::format("in its {}, {}: {}", source_.document, path_.empty() ? "the whole document" : path_, why),
       "make the bundle again with `dovetail compile`"});
}

CheckedJson CheckedJson::nothing() const {
  static const Json kNothing;
  return {&kNothing, path_, source_, *errors_};
}

std::optional<CheckedJson> CheckedJson::find(std::string_view key) const {
  if (!json_->is_object()) {
    fail(fmt::format("expected an object, found {}", json_->type_name()));
    return std::nullopt;
  }
  const auto member = json_->find(key);
  if (member == json_->end()) return std::nullopt;
  return CheckedJson(&*member, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), source_, *errors_);
}

CheckedJson CheckedJson::at(std::string_view key) const {
  if (const auto member = find(key)) return *member;
  fail(fmt::format("\"{}\" is missing", key));
  return nothing();
}

std::vector<CheckedJson> CheckedJson::items() const {
  std::vector<CheckedJson> list;
  if (!json_->is_array()) {
    fail(fmt::format("expected an array, found {}", json_->type_name()));
    return list;
  }
  for (const Json& item : *json_)
    list.push_back(CheckedJson(&item, fmt::format("{}[{}]", path_, list.size()), source_, *errors_));
  return list;
}

std::string CheckedJson::text() const {
  if (json_->is_string()) return json_->get<std::string>();
  fail(fmt::format("expected a string, found {}", json_->type_name()));
  return {};
}

bool CheckedJson::flag() const {
  if (json_->is_boolean()) return json_->get<bool>();
  fail(fmt::format("expected true or false, found {}", json_->type_name()));
  return false;
}

std::vector<std::string> CheckedJson::texts() const {
  std::vector<std::string> list;
  for (const CheckedJson& item : items()) list.push_back(item.text());
  return list;
}

std::vector<std::uint64_t> CheckedJson::naturals() const {
  std::vector<std::uint64_t> list;
  for (const CheckedJson& item : items()) list.push_back(item.natural());
  return list;
}

std::int64_t CheckedJson::integer(std::int64_t low, std::int64_t high) const {
  // nlohmann keeps non-negative numbers as unsigned: one above int64 must not wrap.
  const bool fits =
      json_->is_number_integer() &&
      (!json_->is_number_unsigned() || json_->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  if (fits) {
    const auto value = json_->get<std::int64_t>();
    if (low <= value && value <= high) return value;
    fail(fmt::format("{} is outside [{}, {}]", value, low, high));
  } else {
    fail(fmt::format("expected an integer in [{}, {}], found {}", low, high,
                     json_->is_number() ? json_->dump() : json_->type_name()));
  }
  return low;
}

std::uint64_t CheckedJson::natural(std::uint64_t high) const {
  if (json_->is_number_unsigned()) {
    const auto value = json_->get<std::uint64_t>();
    if (value <= high) return value;
    fail(fmt::format("{} > {}", value, high));
  } else {
    fail(fmt::format("expected an integer in [0, {}], found {}", high,
                     json_->is_number() ? json_->dump() : json_->type_name()));
  }
  return 0;
}

}  // namespace dovetail::bundle
