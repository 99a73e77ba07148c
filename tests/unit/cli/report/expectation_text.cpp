#include "cli/report/expectation_text.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("an expectation as text and JSON") {
  const driver::Expectation expectation{
      {1e-4, 0}, {{"a:0", "step0", 3}, {"b", "step1", 2, 1, 0.125, 2, "1 of 2 elements"}}, {"gone"}};
  CHECK_THAT(
      expectation_text(expectation, Amount::details),
      ContainsSubstring("expected      2 tensors, 1 beyond the tolerance") && ContainsSubstring("not compared  gone"));
  CHECK(expectation_json(expectation)["first"] == "b");
}
