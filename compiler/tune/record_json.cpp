// Records as lines of JSON.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/tune/record_fields.h"

namespace dovetail::tune {

namespace {

constexpr std::string_view kCannotTake = "cannot read a record";

}  // namespace

Json to_json(const Record& record) {
  Json json = {{"version", kRecordVersion}};
  for (const RecordField& field : record_fields()) json[std::string(field.name)] = field.get(record);
  return json;
}

Result<Record> record_from_json(const Json& json, std::string_view where) {
  Diagnostics problems;
  const auto report = [&](std::string why, std::string hint) {
    problems.push_back({std::string(kCannotTake), std::string(where), std::move(why), std::move(hint)});
    return problems;
  };
  if (!json.is_object())
    return report("the line is not a JSON object", "write one object per line, as `records export` does");
  const auto version = json.find("version");
  if (version == json.end())
    return report("the key \"version\" is missing",
                  fmt::format("this version of dovetail reads 1 to {}", kRecordVersion));
  if (!version->is_number_integer() || *version < 1 || *version > kRecordVersion)
    return report(fmt::format("the record has version {}, but this version of dovetail reads 1 to {}", version->dump(),
                              kRecordVersion),
                  "export the record with a matching version of dovetail");

  Record record;
  for (const RecordField& field : record_fields()) {
    const auto value = json.find(field.name);
    if (value == json.end() && *version < field.since) continue;
    if (value == json.end())
      report(fmt::format("the key \"{}\" is missing", field.name),
             fmt::format("it must be {}", expectation(field.form)));
    else if (!field.set(record, *value))
      report(fmt::format("\"{}\" is {:.100}", field.name, value->dump(-1, ' ', true, Json::error_handler_t::replace)),
             field.name == "outcome" ? "the outcome must be measured, refused, wrong, crashed or timed_out"
                                     : fmt::format("it must be {}", expectation(field.form)));
  }
  for (const auto& [key, value] : json.items())
    if (key != "version" && std::ranges::none_of(record_fields(), [&](const auto& field) { return field.name == key; }))
      report(fmt::format("unknown key \"{}\"", key), "remove it");
  if (!problems.empty()) return problems;
  DOVETAIL_TRY(check_record(record, kCannotTake, where));
  return record;
}

}  // namespace dovetail::tune
