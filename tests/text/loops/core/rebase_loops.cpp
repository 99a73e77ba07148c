// Loops over parts of buffers in small programs.
#include "loops/core/rebase_loops.h"

#include <string>

#include "loops/core/dissolve_blocks.h"
#include "loops/parse.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

std::string rebased(const std::string& body) {
  const auto program = parse_program(R"(program p { size n = 100 input begin: int64[n + 1] input column: int32[n]
    input x: float32[n] output y: float32[n] )" +
                                         body + " }",
                                     "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto verified = verify(*program);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  return "\n" + to_string(rebase_loops(dissolve_blocks(*program, {})));
}

}  // namespace

TEST_CASE("a sum over a part of a buffer counts in the buffer, if the part is inside") {
  CHECK(rebased("y[i in n] = sum[e in n where begin[i] + e < begin[i + 1]] x[column[begin[i] + e]]") == R"t(
for y.i in 100 {
  y[y.i] = 0.0
  if begin[y.i] >= 0 && begin[y.i] <= 100 && (begin[y.i + 1] >= -1099511627776 && begin[y.i + 1] <= 100) {
    for y.e.at in 100 @from("begin[y.i]") @to("min(begin[y.i + 1], begin[y.i] + 100)") {
      y[y.i] = y[y.i] + x[int64(column[y.e.at])]
    }
  } else {
    for y.e in 100 {
      y[y.i] = y[y.i] + select(begin[y.i] + y.e < begin[y.i + 1], x[int64(column[begin[y.i] + y.e])], 0.0)
    }
  }
}
)t");
}

TEST_CASE("loops without such a part stay as they are") {
  const char* const body =
      GENERATE("y[i in n] = sum[e in n where begin[i] + e < begin[i + 1]] x[e]",  // no index of the part
               "y[i in n] = sum[e in n where begin[i] + 2 * e < begin[i + 1]] x[begin[i] + 2 * e]",  // not each element
               "y[i in n] = 0 for i in n where begin[i] < 5 { y[begin[i]] = 1 }",                    // one element
               "y[i in n] = 0 for i in n { for e in n { if begin[i] + e < begin[i + 1] { y[begin[i] + e] = 1 } else { "
               "y[i] = 2 } } }");
  CAPTURE(body);
  const std::string core = rebased(body);
  CHECK(core.find('@') == core.npos);
}
