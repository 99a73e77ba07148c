#include "base/result.h"

#include <memory>
#include <string>

#include "tests/catch.h"

namespace dovetail {

namespace {

const Diagnostic kProblem{"cannot count", "sheep", "7 > 6", "sleep"};

Result<int> count(bool works) {
  if (!works) return kProblem;
  return 6;
}
Result<std::string> count_in_words(bool works) {
  DOVETAIL_ASSIGN(const int number, count(works));
  return std::to_string(number);
}
Result<void> count_only(bool works) {
  DOVETAIL_TRY(count(works));
  return {};
}

}  // namespace

TEST_CASE("a Result holds a value or diagnostics") {
  CHECK(*count(true) == 6);
  CHECK(!count(false).ok());
  CHECK(count(false).errors() == Diagnostics{kProblem});
}

TEST_CASE("DOVETAIL_ASSIGN and DOVETAIL_TRY propagate diagnostics") {
  CHECK(*count_in_words(true) == "6");
  CHECK(count_in_words(false).errors() == Diagnostics{kProblem});
  CHECK(count_only(true).ok());
  CHECK(count_only(false).errors() == Diagnostics{kProblem});
}

TEST_CASE("taking the value of a failed Result is an internal error that shows the diagnostics") {
  CHECK_THROWS_AS(*count(false), InternalError);
  CHECK_THROWS_WITH(*count(false), Catch::Matchers::ContainsSubstring("cannot count (sheep): 7 > 6"));
}

TEST_CASE("a Result holds move-only values") {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> value = *std::move(result);
  CHECK(*value == 7);
}

TEST_CASE("a failed Result needs a diagnostic, a failed Result<void> is one with diagnostics") {
  CHECK_THROWS_AS(Result<int>(Diagnostics{}), InternalError);
  CHECK(Result<void>(Diagnostics{}).ok());
}

}  // namespace dovetail
