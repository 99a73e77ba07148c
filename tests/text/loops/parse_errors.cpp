// Malformed programs: the place and the text of each diagnostic.
#include <string>

#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

std::string errors_of(const std::string& body) {
  const auto parsed =
      parse_program("program p {\n  input x: int32[4]\n  output y: int32[4]\n" + body + "\n}\n", "p.loops");
  return parsed.ok() ? "" : to_string(parsed.errors());
}

}  // namespace

TEST_CASE("a syntax error names line, column and what was expected") {
  const auto [body, message] = GENERATE(table<std::string, std::string>({
      {"  for i 4 { }", "p.loops:4:9): expected \"in\" before the loop's extent, found \"4\""},
      {"  for i in 4 fast { }", "p.loops:4:14): expected a kind of loop"},
      {"  y[0] = x[0", "expected \"]\"|p.loops:5:1): expected \",\" between indices, found \"}\""},
      {"  y[0] = z[0]", "p.loops:4:10): no buffer is named z"},
      {"  y[0] = q", "p.loops:4:10): no variable named q is visible here"},
      {"  y[0, 1] = 2", "p.loops:4:4): 2 indices are given for buffer y of rank 1"},
      {"  y[0] = 2.5", "p.loops:4:10): expected int32, found a fraction"},
      {"  y[0] = 3000000000", "p.loops:4:10): 3000000000 does not fit int32 (-2147483648 to 2147483647)"},
      {"  y[0] = x[0] + int8(1)", "the operands have different types, int32 and int8"},
      {"  y[0] = exp(x[0])", "exp is not defined on int32"},
      {"  y[0] = nothing(x[0])", "no function is named nothing"},
      {"  y[0] = min(x[0])", "min needs 2 arguments, 1 are given"},
      {"  y[1.5] = 1", "an index has type float32"},
      {"  if x[0] { }", "expected bool, found an expression of type int32"},
      {"  y[0] = bitcast<int8>(x[0])", "cannot bitcast int32 (4 bytes) to int8 (1 bytes)"},
      {"  y[0] = \"open", "expected an expression, found a quoted name that does not end on its line"},
      {"  y[0] = 1 $ 2", "a character that is not part of a token"},
      {"  y[0] = 99999999999999999999", "99999999999999999999 does not fit int64"},
      {"  hello", "expected \"[\" after \"hello\""},
  }));
  const std::string text = errors_of(body);
  INFO(text);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring(message.substr(message.find('|') + 1)));
}

TEST_CASE("errors of several lines are collected") {
  const auto parsed = parse_program(
      "program p {\n  input x: int3[4]\n  output y: int32[4]\n  y[0] = a\n  y[1] = 2\n  y[2] = b\n}\n", "p");
  REQUIRE(!parsed.ok());
  CHECK(parsed.errors().size() == 3);
  CHECK_THAT(to_string(parsed.errors()), Catch::Matchers::ContainsSubstring("p:2:12): expected an element type"));
}

TEST_CASE("deep nesting and long chains are diagnosed") {
  std::string deep = "  y[0] = ", chain = "  y[0] = 1", loops;
  for (int i = 0; i < 100000; ++i) deep += "(", chain += " + 1", loops += "for i in 2 { ";
  CHECK_THAT(errors_of(deep), Catch::Matchers::ContainsSubstring("nesting is deeper than 256 levels"));
  CHECK_THAT(errors_of(chain), Catch::Matchers::ContainsSubstring("nested more than 1000 operations deep"));
  CHECK_THAT(errors_of(loops), Catch::Matchers::ContainsSubstring("nesting is deeper than 256 levels"));
}

TEST_CASE("every feature survives printing and parsing") {
  const std::string text = R"(program "all of it" {
  free k: int64
  input x: float32[4, 8]
  constant idx: int64[4] in "odd scope"
  output y: float32[4, 8]
  output z: int32[4]
  alloc t: bfloat16[] in accel.acc
  for a in 4 parallel @pragma("a\"b\\\n") {
    for b: int32 in 8 thread(thread.x) {
      block first @tag("1") {
        spatial i in 4 = a
        ordered j in 8 = int64(b)
        where i * 8 + j < 30 && a != 3
        reads x[i, j], idx[0 +: 4]
        writes y[i, j]
        if !(x[i, j] > 0.5) || is_nan(x[i, j]) {
          y[i, j] = select(x[i, j] < -inf, nan, -x[i, j]) * 1e-10
        } else {
          y[i, j] = neg(1.0) + cast<float32>(int8(3)) - float32(cast<int8>(3)) + exp(2.0) + pow(x[i, j], 3.0)
          {
            y[i, j] = bitcast<float32>(~(bitcast<int32>(x[i, j]) << 3 ^ 5) & 7 | 1)
          }
        }
      }
    }
  }
  for c in 4 vthread {
    for d in 2 pipelined {
      for "a b" in 3 unrolled {
        block second {
          spatial i in 4 = c
          reduce r in 6 = d * 3 + "a b"
          reads z[i], x[i, r]
          writes z[i], t[]
          init {
            z[i], t[] = -2147483648, 0.0
          }
          z[i], t[] = max(z[i], requantize(z[i] - (3 - z[i]) * 2, x[i, r], -1)), t[] + bfloat16(1.5) * bfloat16(2.5)
        }
        block third {
          call accel.gemm(y[c, 0] step [1, 0] [0, 1], z[idx[c] // 2 % 4]) with (k, 4, cast<float32>(true))
        }
      }
    }
  }
}
)";
  const auto parsed = parse_program(text, "text");
  REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
  CHECK(to_string(*parsed) == text);
}
