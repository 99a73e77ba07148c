// Lines of JSON: a written line is read back, and errors are named.
#include "base/json.h"
#include "tests/catch.h"
#include "tests/unit/compiler/tune/sample_record.h"

using namespace dovetail;
using namespace dovetail::tune;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const Json& json) {
  const auto record = record_from_json(json, "line 7");
  return record.ok() ? "taken" : to_string(record.errors());
}
std::string refusal_with(const std::string& key, const Json& value) {
  Json json = to_json(test::sample_record(1));
  json[key] = value;
  return refusal(json);
}

}  // namespace

TEST_CASE("records: a line of JSON gives the record again") {
  Record all_else = test::sample_record(2, 1.0 / 3);
  all_else.name = "\"quoted\"\n\x01 ü";
  all_else.time = "";
  all_else.features.clear();
  all_else.default_cost = std::numeric_limits<double>::infinity();
  for (const Record& record : {test::sample_record(1), all_else, test::sample_failure(3, Outcome::crashed),
                               test::sample_failure(4, Outcome::wrong)}) {
    const std::string line = to_json(record).dump();
    CHECK(line.find('\n') == std::string::npos);
    CHECK(record_from_json(parse_json(line, "line").value()).value() == record);
  }
  CHECK(to_json(test::sample_record(1)).dump().starts_with(R"({"version":2,"task":"0123456789abcdef","machine":)"));
}

TEST_CASE("records: a line of another version, or with a missing or unknown key, is refused by name") {
  CHECK_THAT(refusal(Json::array()), ContainsSubstring("cannot read a record (line 7): the line is not a JSON object"));
  CHECK_THAT(refusal(Json::object()), ContainsSubstring("the key \"version\" is missing"));
  CHECK_THAT(refusal_with("version", 3),
             ContainsSubstring("the record has version 3, but this version of dovetail reads 1 to 2"));
  CHECK_THAT(refusal_with("version", 0), ContainsSubstring("version 0, but this"));
  CHECK_THAT(refusal_with("version", "1"), ContainsSubstring("version \"1\", but this"));
  CHECK_THAT(refusal_with("costs", 1), ContainsSubstring("unknown key \"costs\""));
  const Json whole = to_json(test::sample_record(1));
  for (const auto& [key, value] : whole.items()) {
    Json json = whole;
    json.erase(key);
    CHECK_THAT(refusal(json), ContainsSubstring("the key \"" + key + "\" is missing"));
  }
}

TEST_CASE("records: a line of version 1 has no conditions") {
  Json line = to_json(test::sample_record(1));
  line["version"] = 1;
  line.erase("conditions");
  CHECK(record_from_json(line).value() == test::sample_record(1));
  line.erase("search");
  CHECK_THAT(refusal(line), ContainsSubstring("the key \"search\" is missing"));
}

TEST_CASE("records: values of wrong types are refused by name, all of a line at once") {
  for (const std::string key :
       {"task", "machine", "target", "kind", "name", "unit", "why", "search", "time", "conditions", "trace"})
    CHECK_THAT(refusal_with(key, 1), ContainsSubstring("\"" + key + "\" is 1. Hint: it must be a string"));
  for (const std::string key : {"sketch_version", "feature_version"})
    for (const Json& value : {Json(1.5), Json(-1), Json(1e10), Json(std::uint64_t{1} << 63), Json("1"), Json()})
      CHECK_THAT(refusal_with(key, value), ContainsSubstring("\"" + key + "\" is " + value.dump()));
  for (const std::string key : {"cost", "default_cost"})
    CHECK_THAT(refusal_with(key, "fast"),
               ContainsSubstring("\"" + key + "\" is \"fast\". Hint: it must be a number, or null"));
  CHECK_THAT(refusal_with("outcome", "fine"),
             ContainsSubstring(
                 "\"outcome\" is \"fine\". Hint: the outcome must be measured, refused, wrong, crashed or timed_out"));
  CHECK_THAT(refusal_with("decisions", {{"tile", 4}}), ContainsSubstring("\"decisions\" is {\"tile\":4}"));
  CHECK_THAT(refusal_with("decisions", Json::array()), ContainsSubstring("it must be an object of strings"));
  CHECK_THAT(refusal_with("features", {1, "2"}), ContainsSubstring("it must be an array of numbers"));

  Json several = to_json(test::sample_record(1));
  several["task"] = 1;
  several["cost"] = "";
  several["more"] = "";
  CHECK(record_from_json(several).errors().size() == 3);
}

TEST_CASE("records: a line that contradicts itself is refused") {
  CHECK_THAT(refusal_with("cost", Json()), ContainsSubstring("the outcome is measured, but the cost is inf"));
  CHECK_THAT(refusal_with("cost", 0), ContainsSubstring("the outcome is measured, but the cost is 0"));
  CHECK_THAT(refusal_with("outcome", "wrong"), ContainsSubstring("the outcome is wrong, but the cost is 100"));
  CHECK_THAT(refusal_with("default_cost", -1), ContainsSubstring("the cost of the default is -1"));
  CHECK_THAT(refusal_with("task", ""), ContainsSubstring("\"task\" is empty"));
  CHECK_THAT(refusal_with("machine", ""), ContainsSubstring("\"machine\" is empty"));
  for (const char* time : {"yesterday", "2026-07-01 12:00:00", "2026-07-01T12:00:00Z ", "2026-07-01T12:00:0xZ"})
    CHECK_THAT(refusal_with("time", time), ContainsSubstring("write it as 2026-07-01T12:00:00Z"));
}
