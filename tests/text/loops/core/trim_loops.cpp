// The bounds of trimmed loops in small programs.
#include "loops/core/trim_loops.h"

#include <string>

#include "loops/core/dissolve_blocks.h"
#include "loops/parse.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

std::string trimmed(const std::string& body) {
  const auto program = parse_program(R"(program p { size n = 100 input begin: int64[n + 1] input flag: int32[n]
    input x: float32[n] output y: float32[n] output count: int32[] )" +
                                         body + " }",
                                     "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto verified = verify(*program);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  return "\n" + to_string(trim_loops(dissolve_blocks(*program, {})));
}

}  // namespace

TEST_CASE("a sum ends with the data that bounds it, unless sums of that data may wrap") {
  CHECK(trimmed("y[i in n] = sum[e in n where begin[i] + e < begin[i + 1]] x[e]") == R"t(
for y.i in 100 {
  y[y.i] = 0.0
  for y.e in 100 @to("select(begin[y.i] >= -1099511627776 && begin[y.i] <= 1099511627776 && (begin[y.i + 1] >= -1099511627776 && begin[y.i + 1] <= 1099511627776), begin[y.i + 1] - begin[y.i], 100)") {
    y[y.i] = y[y.i] + select(begin[y.i] + y.e < begin[y.i + 1], x[y.e], 0.0)
  }
}
)t");
}

TEST_CASE("triangular loops begin and end at the diagonal") {
  const std::string core = trimmed("for i in n { for e in n where e > i { y[e] = x[i] } }");
  CHECK_THAT(core, Catch::Matchers::ContainsSubstring("for e in 100 @from(\"i + 1\") {\n    if e > i {"));
  CHECK_THAT(trimmed("for i in n { for e in n where 2 * e <= i { y[e] = x[i] } }"),
             Catch::Matchers::ContainsSubstring("@to(\"i // 2 + 1\")"));
}

TEST_CASE("a loop around a condition on data ends when it is false") {
  const std::string body = "count[] = 5 for step in n while count[] > 0 { count[] -= 1 }";
  CHECK_THAT(trimmed(body), Catch::Matchers::ContainsSubstring("for step in 100 @while(\"count[] > 0\") {"));
}

TEST_CASE("conditions that bound nothing, or whose data the loop changes, leave a loop as it is") {
  const char* const body =
      GENERATE("for e in n where flag[e] > 0 { y[e] = x[e] }",                               // of the element
               "for e in n where e % 2 == 0 { y[e] = x[e] }",                                // not linear
               "for e in n where e < 95 { y[e] = x[e] }",                                    // saves too little
               "count[] = 7 for e in n where e < int64(count[]) { count[] = int32(e) }",     // changed inside
               "for e in n { if e < begin[0] { y[e] = x[e] } else { y[e] = 0 } }",           // else does something
               "for e in n { if e < begin[0] { y[e] = x[e] } count[] = int32(e) }",          // so does what follows
               "count[] = 1 for e in n { if count[] > 0 { count[] = 0 } y[e] = x[e] }",      // so does what follows
               "y[i in n] = 1 for i in n { y[i] += sum[e in n where e < begin[i]] x[e] }");  // -0 + 0 is 0
  CAPTURE(body);
  const std::string core = trimmed(body);
  CHECK(core.find('@') == core.npos);
}

TEST_CASE("a float sum that does not start at +0 adds the zeros of all iterations") {
  const auto core_of = [](const std::string& start) {
    return trimmed("for i in n { for k in n { block b { spatial v in n = i reduce r in n = k init { y[v] = " + start +
                   " } y[v] = y[v] + select(r < begin[v], x[r], 0.0) } } }");
  };
  CHECK_THAT(core_of("0.0"), Catch::Matchers::ContainsSubstring("@to("));
  CHECK(core_of("-0.0").find('@') == std::string::npos);
  CHECK(core_of("x[v]").find('@') == std::string::npos);
}
