#include "driver/names.h"

#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::driver;
using Catch::Matchers::ContainsSubstring;

namespace {

template <typename T>
std::string errors(const Result<T>& result) {
  return result.ok() ? "" : to_string(result.errors());
}

}  // namespace

TEST_CASE("names match plainly, and only one") {
  CHECK(plain_name("data:0/x y.z-1_") == "data_0_x_y.z-1_");
  // A character of two, three and four bytes each, a letter with a separate accent, and bytes that are not UTF-8.
  CHECK(plain_name("größe") == "gr__e");
  CHECK(plain_name("入力_0") == "___0");
  CHECK(plain_name("a\xF0\x9F\x98\x80z") == "a_z");
  CHECK(plain_name("e\xCC\x81") == "e_");
  CHECK(plain_name("\xC3") == "_");
  CHECK(plain_name("\xC3x\xFF\x80") == "_x__");
  CHECK(plain_name("\xE5\x85z") == "__z");
  CHECK(plain_name("").empty());
  CHECK(*match_name("--input", "input", {"größe", "b"}, "gr__e") == "größe");
  CHECK_THAT(errors(match_name("--input", "input", {"入力", "出力"}, "__")),
             ContainsSubstring("it could be 入力 or 出力"));
  CHECK(*match_name("--input", "input", {"data:0", "label"}, "data_0") == "data:0");
  CHECK(*match_name("--input", "input", {"a:0", "a_0"}, "a_0") == "a_0");
  CHECK_THAT(errors(match_name("--input", "input", {"a:0", "a/0"}, "a_0")),
             ContainsSubstring("it could be a:0 or a/0"));
  CHECK_THAT(errors(match_name("--input", "input", {"x"}, "y")),
             ContainsSubstring("the model has no input of that name. Hint: there are: x"));
}
