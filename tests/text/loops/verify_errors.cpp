// Each rule of the verifier, violated once: the text that the user sees.
#include <string>

#include "loops/free_vars.h"
#include "loops/parse.h"
#include "loops/verify.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

Program parsed(const std::string& text) {
  auto program = parse_program(text, "test");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  return *std::move(program);
}

IntrinsicTable intrinsics() {
  Intrinsic copy;
  copy.name = "t.copy";
  copy.semantics = parsed(
      "program copy { free n: int64 output d: int8[4] input s: int8[4] for i in 4 { block c { spatial v in 4 = i reads "
      "s[v] writes d[v] d[v] = s[v] } } block n { spatial z in 1 = n * 0 reads d[0] writes d[0] d[0] = d[0] } }");
  copy.scopes = {"sram", ""};
  copy.immediates = {make_var("n")};
  Intrinsic relu = copy;
  relu.name = "t.relu";
  relu.scopes = {"", ""};
  relu.immediates = {};
  relu.in_place = true;
  return {copy, relu};
}

std::string verify_errors_of(const std::string& body) {
  const auto result =
      verify(parsed("program p { input x: int8[8] output y: int8[8] alloc t: int8[8] in sram alloc w: int32[8] " +
                    body + " }"),
             intrinsics());
  return to_string(result.errors());
}

}  // namespace

TEST_CASE("each violated rule is reported with its place and numbers") {
  const auto [body, message] = GENERATE(table<std::string, std::string>({
      {"call t.relu(y[0] step [1], y[0] step [1])", "intrinsic t.relu is called outside any block"},
      {"for i in 8 { block b { spatial v in 8 = i writes y[v] y[v] = 1 } } for j in 8 { block b { spatial v in 8 = j "
       "writes y[v] y[v] = 1 } }",
       "two blocks are named b"},
      {"for i in 8 { block b { spatial i in 8 = i writes y[i] y[i] = 1 } }",
       "iterator i has the same name as a variable around the block"},
      {"for i in 8 { block b { spatial v in 8 = i writes x[v] x[v] = 1 } }", "input x is written"},
      {"for i in 8 { block b { spatial v in 4 = i writes y[v] y[v] = 1 } }",
       "(block b): iterator v = i has values 0 to 7, but the iterator's range is 0 to 3. Hint: guard the block by a "
       "predicate"},
      {"for i in 3 { for j in 3 { block b { spatial v in 8 = i * 3 + j writes y[v] y[v] = 1 } } }",
       "iterator v = i * 3 + j has values 0 to 8, but the iterator's range is 0 to 7"},
      {"for i in 3 { block b { spatial v in 8 = i * i writes y[v] y[v] = 1 } }",
       "iterator v = i * i is not affine in the loops around the block"},
      {"for i in 8 { block b { spatial v in 8 = i writes y[v] y[i] = 1 } }",
       "variable i is not visible in i. Hint: inside a block use its iterators"},
      {"for i in 8 { block b { spatial v in 8 = i reads x[v] y[v] = x[v] } }",
       "y[v] is accessed, but not covered by the declared writes"},
      {"for i in 8 { block b { spatial v in 8 = i reads x[v] writes y[v] y[v] = x[7 - v] } }",
       "x[7 - v] is accessed, but not covered by the declared reads"},
      {"for i in 8 { block b { spatial v in 8 = i reads x[0 +: 8] writes y[v] y[v] = x[v + 1] } }",
       "index v + 1 of dimension 0 of buffer x cannot be proven in bounds: its range is 1 to 8, the extent is 8"},
      {"for i in 8 { block b { reduce v in 8 = i writes y[v] y[v] = 1 } }",
       "the index of the store to y[... v ...] depends on the reduce iterator v"},
      {"for i in 8 { block b { reduce v in 8 = i writes y[0] y[0] = 1 } }",
       "buffer y is stored under 1 reduce iterator(s) without reading its previous value"},
      {"block b { writes y[0 +: 8] call t.none(y[0]) }",
       "intrinsic t.none is not among the 2 intrinsics of the target"},
      {"block b { reads x[0 +: 4] writes y[0 +: 4] call t.copy(y[0] step [1]) with (0) }",
       "t.copy is called with 1 operands, but needs 2"},
      {"block b { reads x[0 +: 4], y[0] writes y[0 +: 4] call t.copy(y[0] step [1], x[0] step [1]) }",
       "t.copy is called with 0 immediates, but needs 1"},
      {"block b { reads x[0 +: 4], y[0] writes y[0 +: 4] call t.copy(y[0] step [1], x[0] step [1]) with (0) }",
       "operand 0 (y) of t.copy is in scope global, not sram"},
      {"block b { reads w[0 +: 4], t[0] writes t[0 +: 4] call t.copy(t[0] step [1], w[0] step [1]) with (0) }",
       "operand 1 (w) of t.copy has type int32, not int8"},
      {"block b { reads x[0 +: 8], t[0 +: 4] writes t[0 +: 4] call t.copy(t[0] step [1], x[2] step [2]) with (0) }",
       "index 2 of dimension 0 of buffer x cannot be proven in bounds: its range is 2 to 8, the extent is 8"},
      {"block b { reads x[0 +: 4], t[0] writes t[0 +: 4] call t.copy(t[0] step [1] [1], x[0] step [1]) with (0) }",
       "has steps for 2 axes, but the intrinsic's operand has 1 axes"},
  }));
  const std::string text = verify_errors_of(body);
  INFO(text);
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring(message));
}

// The text form makes a block of a store, and other names of loops that have one.
TEST_CASE("stores outside blocks and loops of one name are reported") {
  const Buffer y = make_buffer("y", DType::int8, {8});
  const auto errors_of = [&](Stmt body) {
    const auto result = verify(Program{"p", {{y, ParameterRole::output}}, {}, std::move(body)});
    return to_string(result.errors());
  };
  const Stmt one = store(y, {int_imm(0)}, int_imm(1, DType::int8));
  CHECK_THAT(errors_of(one), Catch::Matchers::ContainsSubstring("buffer y is stored outside any block"));
  const auto loop = [&](const std::string& block) {
    Block inner;
    inner.name = block;
    inner.writes = {{y, {{int_imm(0), 1}}}};
    inner.body = one;
    return make_stmt(For{make_var("i"), 8, ForKind::serial, "", {}, make_stmt(std::move(inner))});
  };
  CHECK_THAT(errors_of(sequence({loop("a"), loop("b")})), Catch::Matchers::ContainsSubstring("two loops are named i"));
}

TEST_CASE("correct programs pass: splits under predicates, guarded and data-dependent indices, windows of intrinsics") {
  CHECK(verify_errors_of(
            "for i in 3 { for j in 3 { block b { spatial v in 8 = i * 3 + j where v < 8 reads x[v] writes y[v] "
            "y[v] = x[v] } } }") == "");
  CHECK(verify_errors_of(
            "for i in 8 { block b { spatial v in 8 = i reads x[v +: 2] writes y[v] y[v] = select(v < 7, x[v + "
            "1], 0) } }") == "");
  CHECK(verify_errors_of(
            "for i in 8 { block b { spatial v in 8 = i reads x[0 +: 8] writes y[v] y[v] = select(v >= 3 && (v - "
            "3) % 2 == 0 && (v - 3) // 2 < 8, x[(v - 3) // 2], 0) } }") == "");
  CHECK(verify_errors_of(
            "for i in 8 { block b { spatial v in 8 = i reads x[0 +: 8] writes y[v] y[v] = x[int64(x[v])] } }") == "");
  CHECK(verify_errors_of(
            "block b { reads x[0 +: 7], t[0 +: 4] writes t[0 +: 4] call t.copy(t[0] step [1], x[0] step [2]) "
            "with (0) }") == "");
  CHECK(verify_errors_of(
            "for o in 2 { block outer { spatial vo in 2 = o reads x[vo * 4 +: 4] writes y[vo * 4 +: 4] for i in "
            "4 { block inner { spatial v in 8 = vo * 4 + i reads x[v] writes y[v] y[v] = x[v] } } } }") == "");
}
