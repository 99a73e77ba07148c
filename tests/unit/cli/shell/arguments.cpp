#include "cli/shell/arguments.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
using Catch::Matchers::ContainsSubstring;

namespace {

template <typename T>
std::string errors(const Result<T>& result) {
  return result.ok() ? "" : to_string(result.errors());
}

}  // namespace

TEST_CASE("addresses are decimal or hexadecimal") {
  CHECK(*parse_address("--dram-base", "4096") == 4096);
  CHECK(*parse_address("--dram-base", "0x1000") == 4096);
  CHECK(*parse_address("--dram-base", "18446744073709551615") == UINT64_MAX);
  for (const char* wrong : {"", "0x", "-1", "+1", "1 ", "18446744073709551616", "0x1g", "4k"})
    CHECK_THAT(errors(parse_address("--dram-base", wrong)), ContainsSubstring("invalid value for --dram-base"));
}

TEST_CASE("launches are within the program") {
  const auto launches = parse_launches({"0:30", "30:2"}, 32);
  REQUIRE(launches.ok());
  CHECK(launches->at(1).begin == 30);
  CHECK(parse_launches({}, 7)->at(0).count == 7);
  CHECK_THAT(errors(parse_launches({"30:3"}, 32)), ContainsSubstring("it exceeds the program's 32 instructions"));
  CHECK_THAT(errors(parse_launches({"1:18446744073709551615"}, 32)), ContainsSubstring("exceeds"));
  for (const char* wrong : {"30", ":3", "1:", "a:1", "1:-1", "1:2:3"})
    CHECK_THAT(errors(parse_launches({wrong}, 32)), ContainsSubstring("it is not BEGIN:COUNT"));
}

TEST_CASE("assignments divide at the last equals sign") {
  const auto assignments = parse_assignments("--input", {"a=b=c.npy", "d=e"});
  REQUIRE(assignments.ok());
  CHECK(assignments->at("a=b") == "c.npy");
  CHECK_THAT(errors(parse_assignments("--input", {"a=1", "a=2"})), ContainsSubstring("a is given twice"));
  for (const char* wrong : {"a", "=b", "a="})
    CHECK_THAT(errors(parse_assignments("--input", {wrong})), ContainsSubstring("it is not NAME=VALUE"));
}

TEST_CASE("targets are known, available, and listed once") {
  CHECK(*parse_targets("--target", "accel,cpu") == std::vector<std::string>{"accel", "cpu"});
  CHECK_THAT(
      errors(parse_targets("--target", "tpu")),
      ContainsSubstring("there is no target \"tpu\". Hint: targets of this version: accel, cpu, host, onednn, cuda, "
                        "cublas, cudnn"));
  CHECK_THAT(errors(parse_targets("--target", "accel,")), ContainsSubstring("there is no target \"\""));
  CHECK_THAT(errors(parse_targets("--target", "cpu,cpu")), ContainsSubstring("listed twice"));
}

TEST_CASE("shapes") {
  const auto shapes = parse_shapes({"batch=2", "x=1x3x224x224"});
  REQUIRE(shapes.ok());
  REQUIRE(shapes->size() == 1);
  CHECK(shapes->front().at("batch") == Shape{2});
  CHECK(shapes->front().at("x") == Shape{1, 3, 224, 224});
  CHECK(parse_shapes({})->size() == 1);
  const auto several = parse_shapes({"batch=2", "x=4", "batch=8"});
  REQUIRE(several->size() == 2);
  CHECK(several->at(1) == std::map<std::string, Shape>{{"batch", {8}}, {"x", {4}}});
  CHECK_THAT(errors(parse_shapes({"x=1", "x=1"})), ContainsSubstring("it is given twice"));
  CHECK_THAT(errors(parse_shapes({"x=1", "x=2", "y=1", "y=2", "y=3"})),
             ContainsSubstring("it has 2 shapes, another name has 3"));
  for (const char* wrong : {"x=", "x=1x", "x=0", "x=-1", "x=1x3.5"}) CHECK_FALSE(parse_shapes({wrong}).ok());
}

TEST_CASE("configurations are split at commas, except before a change") {
  using Names = std::vector<std::string>;
  CHECK(split_configurations({"a", "b,c"}) == Names{"a", "b", "c"});
  CHECK(split_configurations({"a,clock_mhz=200,b,x=1,y=2"}) == Names{"a,clock_mhz=200", "b,x=1,y=2"});
}

TEST_CASE("targets are those that the kit knows, each once") {
  CHECK(parse_compared_targets("cpu,accel,cuda").value() == std::vector<std::string>{"cpu", "accel", "cuda"});
  CHECK_THAT(to_string(parse_compared_targets("cpu,gpu").errors()), ContainsSubstring("there is no target \"gpu\""));
  CHECK_THAT(to_string(parse_compared_targets("cpu,cpu").errors()), ContainsSubstring("cpu is listed twice"));
}
