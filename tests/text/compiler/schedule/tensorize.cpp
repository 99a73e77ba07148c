// tensorize: matches, the text of each mismatch, and how an intrinsic describes its operands.
#include "compiler/schedule/index_map.h"
#include "loops/rewrite.h"
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;
using dovetail::loops::Intrinsic;

namespace {

const std::string kTensorizeCopy =
    "program p { input x: int32[10] output y: int32[10] for i in 10 { block b { spatial v in 10 = i reads x[v] writes "
    "y[v] y[v] = x[v] } } }";
const std::string kTensorizeProduct =
    "program p { input x: int32[8, 4] input w: int32[4, 6] output y: int32[8, 6] for i in 8 { for j in 6 { for k in 4 "
    "{ "
    "block b { spatial v in 8 = i spatial u in 6 = j reduce r in 4 = k reads y[v, u], x[v, r], w[r, u] writes y[v, u] "
    "init { y[v, u] = 0 } y[v, u] = y[v, u] + w[r, u] * x[v, r] } } } } }";

Intrinsic intrinsic(const std::string& name, const std::string& text, const std::string& scope = "") {
  Intrinsic row{name, parsed(text), {}, {}, false};
  row.scopes.assign(row.semantics.parameters.size(), scope);
  return row;
}
Intrinsic copy(const std::string& scope = "") {
  return intrinsic("t.copy",
                   "program c { output d: int32[5] input s: int32[5] for i in 5 { block c { spatial v in 5 = i reads "
                   "s[v] writes d[v] d[v] = s[v] } } }",
                   scope);
}
// Rows of the second operand are columns of the product.
Intrinsic gemm() {
  return intrinsic("t.gemm",
                   "program g { output d: int32[2, 3] input a: int32[2, 4] input b: int32[3, 4] for i in 2 { for j in "
                   "3 { for k in 4 { block g { "
                   "spatial m in 2 = i spatial n in 3 = j reduce q in 4 = k reads d[m, n], a[m, q], b[n, q] writes "
                   "d[m, n] d[m, n] = d[m, n] + a[m, q] * b[n, q] } } } } }");
}
Intrinsic dot() {
  return intrinsic("t.dot",
                   "program t { output d: int32[1] input a: int32[4] input b: int32[4] for k in 4 { block t { reduce q "
                   "in 4 = k reads d[0], a[q], b[q] writes d[0] "
                   "init { d[0] = 0 } d[0] = d[0] + a[q] * b[q] } } }");
}

}  // namespace

TEST_CASE("schedule: tensorize replaces a nest by a call") {
  CHECK_THAT(scheduled(kTensorizeCopy, "split i 5 -> o n\ntensorize n t.copy", {copy()}),
             Catch::Matchers::ContainsSubstring("call t.copy(y[vo * 5]"));
}

TEST_CASE("schedule: tensorize unifies modulo loop order, strides and exchanged operands") {
  const std::string tiles = "decompose_reduction b i -> z\nsplit i 2 -> io ii\nsplit j 3 -> jo ji\n";
  const std::string call =
      "call t.gemm(y[vio * 2, vjo * 3] step [1, 0] [0, 1], x[vio * 2, 0] step [1, 0] [0, 1], w[0, vjo * 3] step [0, 1] "
      "[1, 0])";
  CHECK_THAT(scheduled(kTensorizeProduct, tiles + "reorder io jo k ji ii\ntensorize k t.gemm", {gemm()}),
             Catch::Matchers::ContainsSubstring(call));
  CHECK_THAT(scheduled(kTensorizeProduct, tiles + "reorder io jo ii ji k\ntensorize ii t.gemm", {gemm()}),
             Catch::Matchers::ContainsSubstring(call));
  CHECK_THAT(scheduled(kTensorizeProduct, "tensorize k t.dot", {dot()}),
             Catch::Matchers::ContainsSubstring(
                 "call t.dot(y[vi, vj] step [0, 0], w[0, vj] step [1, 0], x[vi, 0] step [0, 1])"));
}

TEST_CASE("schedule: tensorize decides the side of a select by the immediate") {
  Intrinsic shift = intrinsic("t.shift",
                              "program s { output d: int32[5] input a: int32[5] free imm: int32 for i in 5 { block s { "
                              "spatial v in 5 = i reads a[v] writes d[v] "
                              "d[v] = select(imm >= 0, a[v] >> min(imm, 31), a[v] << min(-imm, 31)) } } }");
  REQUIRE(shift.immediates.empty());
  dovetail::loops::visit_exprs(shift.semantics.body, [&](const dovetail::loops::Expr& expr) {
    if (const auto* reference = std::get_if<dovetail::loops::VarRef>(&expr->node);
        reference != nullptr && reference->var->name == "imm" && shift.immediates.empty())
      shift.immediates.push_back(reference->var);
  });
  const auto tensorized = [&](const std::string& value) {
    return scheduled(
        "program p { input x: int32[5] output y: int32[5] for i in 5 { block b { spatial v in 5 = i y[v] = " + value +
            " } } }",
        "tensorize i t.shift", {shift});
  };
  CHECK_THAT(tensorized("x[v] >> 8"), Catch::Matchers::ContainsSubstring("with (int32(8))"));
  CHECK_THAT(tensorized("x[v] << 3"), Catch::Matchers::ContainsSubstring("with (int32(-3))"));
  CHECK_THAT(tensorized("x[v] >> 31"), Catch::Matchers::ContainsSubstring("with (int32(31))"));
  CHECK_THAT(tensorized("select(int32(2) >= 0, x[v] >> min(int32(2), 31), x[v] << min(int32(-2), 31))"),
             Catch::Matchers::ContainsSubstring("with (int32(2))"));
  for (const char* value : {"x[v] >> 32", "x[v] >> -1", "x[v] * 8"})
    check_refused(
        std::string("program p { input x: int32[5] output y: int32[5] for i in 5 { block b { spatial v in 5 = "
                    "i y[v] = ") +
            value + " } } }",
        "tensorize i t.shift", "does not match select(imm >= 0", {shift});
}

TEST_CASE("schedule refusals: tensorize states what did not match") {
  check_refused(kTensorizeCopy, "tensorize i t.none",
                "the target has no intrinsic t.none. Hint: the intrinsics are t.copy", {copy()});
  check_refused(kTensorizeCopy, "split i 4 -> o n\ntensorize n t.copy",
                "the predicate o * 4 + n < 10 masks a part of the intrinsic", {copy()});
  check_refused(kTensorizeCopy, "tensorize i t.copy",
                "t.copy has axes v 5, but the nest at i has loops i 10. Hint: split and reorder so that the loops "
                "inside have exactly these extents",
                {copy()});
  check_refused(
      kTensorizeCopy, "split i 5 -> o n\ntensorize n t.copy",
      "operand d of t.copy must be in scope local, but y is in global. Hint: use cache_read, cache_write or set_scope",
      {copy("local")});
  check_refused(kTensorizeProduct, "tensorize k t.copy", "the block initializes its result and the intrinsic does not",
                {copy()});
  check_refused(kTensorizeProduct, "decompose_reduction b i -> z\ntensorize k t.copy",
                "the block does not match t.copy: y[v, u] + w[r, u] * x[v, r] does not match s[v]. Hint: bring it to "
                "the form of t.copy",
                {copy()});
  check_refused(kTensorizeProduct, "tensorize j t.dot", "t.dot has axes q 4, but the nest at j has loops j 6, k 4",
                {dot()});
  check_refused(kTensorizeProduct, "split k 2 -> ko ki\nsplit i 4 -> io ii\nreorder j io ko ki ii\ntensorize ii t.dot",
                "the reduction continues in loop ko", {dot()});
  // A square tile whose rows do not move as required.
  check_refused(
      "program p { input x: int32[8, 4] input w: int32[4, 6] output y: int32[8, 6] for i in 2 { for j in 3 { for k in "
      "4 { "
      "block b { spatial v in 2 = i spatial u in 3 = j reduce r in 4 = k reads y[v, u], x[v, r], w[r, 0] writes y[v, "
      "u] y[v, u] = y[v, u] + x[v, r] * w[r, 0] } } } } }",
      "tensorize i t.gemm",
      "the block does not match t.gemm: axis 0 of operand b does not move the access of w (with m = i, n = j, q = k)",
      {gemm()});
  // It initializes another element than it accumulates.
  check_refused(
      "program p { input x: int32[4] input w: int32[4] output y: int32[2] for k in 4 { block b { reduce r in 4 = k "
      "reads y[0], x[r], w[r] writes y[0 +: 2] "
      "init { y[1] = 0 } y[0] = y[0] + x[r] * w[r] } } }",
      "tensorize k t.dot", "two accesses of operand d do not differ by a constant step", {dot()});
}

TEST_CASE("schedule: fragments say which lane holds an element") {
  using namespace dovetail::schedule;
  // The accumulator of mma.m16n8k16 (PTX ISA, 9.7.14: matrix fragments).
  const auto fragment = parse_fragment("i0%8,i1/2|i0/8,i1%2", {16, 8});
  REQUIRE(fragment.ok());
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 8; ++c) {
      const auto place = fragment->place({r, c});
      REQUIRE(place.lane == r % 8 * 4 + c / 2);
      REQUIRE(place.register_index == r / 8 * 2 + c % 2);
    }
  CHECK(dovetail::to_string(parse_fragment("i0,i1", {16, 8}).errors()) ==
        "error: cannot use fragment i0,i1: the fragment must have one bar between lanes and registers. Hint: write for "
        "example i0%8,i1/2|i0/8,i1%2");
  Intrinsic row = copy();
  row.layouts = {"i0|"};
  CHECK_THAT(
      dovetail::to_string(dovetail::loops::verify(row).errors()),
      Catch::Matchers::ContainsSubstring("1 layouts are given for 2 operands. Hint: give one layout per operand"));
}
