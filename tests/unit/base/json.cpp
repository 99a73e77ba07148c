#include "base/json.h"

#include <string>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;

namespace {
std::string json_problem(std::string_view text) {
  const Result<Json> result = parse_json(text, "f.json");
  return result.ok() ? "no problem" : to_string(result.errors());
}
}  // namespace

TEST_CASE("JSON keeps the order of its keys") {
  CHECK(parse_json(R"({"b": [1, 2.5, "x", null, true], "a": {"a": {}}})", "f")->dump() ==
        R"({"b":[1,2.5,"x",null,true],"a":{"a":{}}})");
}

TEST_CASE("a key twice in one object is an error, in two objects it is not") {
  CHECK(json_problem(R"({"a": {"k": 1}, "b": {"k": 1}, "k": [{"k": 1}, {"k": 2}]})") == "no problem");
  CHECK(json_problem(R"({"x": [{"k": 1, "j": {"k": 0}, "k": 2}]})") ==
        "error: cannot read JSON (f.json): the key \"k\" occurs twice in one object. Hint: remove one of the two "
        "occurrences");
}

TEST_CASE("all duplicate keys are reported") {
  CHECK(parse_json(R"({"a":1,"a":2,"b":3,"b":4})", "f").errors().size() == 2);
}

TEST_CASE("syntax errors name line and column") {
  CHECK_THAT(json_problem("{\n  \"a\": 1,\n  oops\n}"),
             ContainsSubstring("(f.json:3:3)") && ContainsSubstring("syntax error"));
  CHECK_THAT(json_problem(""), ContainsSubstring("(f.json:1:1)") &&
                                   (ContainsSubstring("unexpected end of input") || ContainsSubstring("empty input")));
  CHECK_THAT(json_problem("[1, 2"), ContainsSubstring("f.json:1:6"));
}

TEST_CASE("trailing text, comments and bad UTF-8 are errors") {
  CHECK_THAT(json_problem("{} x"), ContainsSubstring("f.json:1:4"));
  CHECK_THAT(json_problem("{} {}"), ContainsSubstring("cannot read JSON"));
  CHECK_THAT(json_problem("[1] // one"), ContainsSubstring("cannot read JSON"));
  CHECK_THAT(json_problem("[\"\xff\"]"), ContainsSubstring("UTF-8"));
}

TEST_CASE("numbers out of range are errors, not infinity") {
  CHECK_THAT(json_problem("[1e999]"), ContainsSubstring("(f.json): number overflow parsing '1e999'"));
}

TEST_CASE("deep nesting is refused, however deep") {
  CHECK(json_problem(std::string(500, '[') + std::string(500, ']')) == "no problem");
  CHECK_THAT(json_problem(std::string(502, '[') + std::string(502, ']')), ContainsSubstring("deeper than 500 levels"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  objects += "1" + std::string(100000, '}');
  CHECK_THAT(json_problem(objects), ContainsSubstring("deeper than 500 levels"));
}

TEST_CASE("read_json_file names the file") {
  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "good.json", "{\"a\": 1}").ok());
  REQUIRE(write_text_file(folder / "bad.json", "{").ok());
  CHECK((*read_json_file(folder / "good.json"))["a"] == 1);
  CHECK_THAT(to_string(read_json_file(folder / "bad.json").errors()), ContainsSubstring("bad.json:1:2"));
  CHECK_THAT(to_string(read_json_file(folder / "none.json").errors()), ContainsSubstring("no such file"));
}

}  // namespace dovetail
