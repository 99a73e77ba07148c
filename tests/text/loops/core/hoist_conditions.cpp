// The places of conditions in small programs.
#include "loops/core/hoist_conditions.h"

#include "loops/core/dissolve_blocks.h"
#include "loops/parse.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

std::string hoisted(const std::string& text) {
  const auto program = parse_program(text, "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto verified = verify(*program);
  REQUIRE((verified.ok() ? "" : to_string(verified.errors())) == "");
  return "\n" + to_string(hoist_conditions(dissolve_blocks(*program, {})));
}

// A copy to 8 x 3 x 4 elements under a condition.
std::string copies(const std::string& condition, const std::string& kind = "", const std::string& reads = "") {
  return R"(program copies { input x: float32[10, 4] input n: int32[4] output y: float32[8, 3, 4]
    for o in 8 { for k in 3 )" +
         kind + R"( { for c in 4 { block copy {
      spatial a in 8 = o spatial b in 3 = k spatial d in 4 = c where )" +
         condition + " reads x[a + b, d]" + reads + R"( writes y[a, b, d] y[a, b, d] = x[a + b, d] } } } } })";
}

}  // namespace

TEST_CASE("a condition is hoisted out of the loops that it does not depend on, each term separately") {
  CHECK(hoisted(copies("o + k < 9 && c < 3")) == R"(
for o in 8 {
  for k in 3 {
    if o + k < 9 {
      for c in 4 {
        if c < 3 {
          y[o, k, c] = x[o + k, c]
        }
      }
    }
  }
}
)");
  CHECK(hoisted(copies("o < 5")) == R"(
for o in 8 {
  if o < 5 {
    for k in 3 {
      for c in 4 {
        y[o, k, c] = x[o + k, c]
      }
    }
  }
}
)");
  CHECK(hoisted(copies("o + c < 9")) == R"(
for o in 8 {
  for k in 3 {
    for c in 4 {
      if o + c < 9 {
        y[o, k, c] = x[o + k, c]
      }
    }
  }
}
)");
}

TEST_CASE("a condition stays inside a parallel loop, and one with a load stays where it is") {
  CHECK(hoisted(copies("o < 5", "parallel")) == R"(
for o in 8 {
  for k in 3 parallel {
    if o < 5 {
      for c in 4 {
        y[o, k, c] = x[o + k, c]
      }
    }
  }
}
)");
  CHECK(hoisted(copies("n[k] < 2 && o < 4", "", ", n[k]")) == R"(
for o in 8 {
  if o < 4 {
    for k in 3 {
      for c in 4 {
        if n[k] < 2 {
          y[o, k, c] = x[o + k, c]
        }
      }
    }
  }
}
)");
}
