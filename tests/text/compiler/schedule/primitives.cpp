// Each primitive on a small program.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kPrimitivesCopy =
    "program p { input x: int32[10] output y: int32[10] for i in 10 { block b { spatial v in 10 = i reads x[v] writes "
    "y[v] y[v] = x[v] } } }";
const std::string kPrimitivesGrid =
    "program p { input x: int32[3, 4] output y: int32[3, 4] for i in 3 { for j in 4 { block b { spatial v in 3 = i "
    "spatial w in 4 = j reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } } }";
const std::string kPrimitivesSum =
    "program p { input x: int32[3, 4] output y: int32[3] for i in 3 { for k in 4 { block b { spatial v in 3 = i reduce "
    "r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } }";
const std::string kPrimitivesChain =
    "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
    "for j in 2 { for k in 4 { block b { spatial v in 8 = j * 4 + k reads t[v] writes y[v] y[v] = t[v] * 2 } } } }";

}  // namespace

TEST_CASE("schedule: split by a factor that divides the extent") {
  check_becomes(kPrimitivesCopy, "split i 5",
                "program p { input x: int32[10] output y: int32[10] for i_0 in 2 { for i_1 in 5 { block b { spatial v "
                "in 10 = i_0 * 5 + i_1 reads x[v] writes y[v] y[v] = x[v] } } } }");
}

TEST_CASE("schedule: split by a factor that does not divide the extent masks the remainder") {
  check_becomes(kPrimitivesCopy, "split i 4 -> o n",
                "program p { input x: int32[10] output y: int32[10] for o in 3 { for n in 4 { block b { spatial v in "
                "10 = o * 4 + n where o * 4 + n < 10 reads x[v] writes y[v] y[v] = x[v] } } } }");
}

TEST_CASE("schedule: fuse") {
  check_becomes(kPrimitivesGrid, "fuse i j -> f",
                "program p { input x: int32[3, 4] output y: int32[3, 4] for f in 12 { block b { spatial v in 3 = f // "
                "4 spatial w in 4 = f % 4 reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } }");
}

TEST_CASE("schedule: reorder") {
  check_becomes(
      kPrimitivesSum, "reorder k i",
      "program p { input x: int32[3, 4] output y: int32[3] for k in 4 { for i in 3 { block b { spatial v in 3 = i "
      "reduce r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } }");
}

TEST_CASE("schedule: compute_at") {
  check_becomes(kPrimitivesChain, "compute_at a j",
                "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] for j in 2 { "
                "for i in 4 { block a { spatial v in 8 = j * 4 + i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
                "for k in 4 { block b { spatial v in 8 = j * 4 + k reads t[v] writes y[v] y[v] = t[v] * 2 } } } }");
}

TEST_CASE("schedule: cache_read and cache_write") {
  check_becomes(
      kPrimitivesCopy, "cache_read b x local -> xl\ncache_write b y local -> yl",
      "program p { input x: int32[10] output y: int32[10] alloc xl: int32[10] in local alloc yl: int32[10] in local "
      "for xl.0 in 10 { block xl { spatial i0 in 10 = xl.0 reads x[i0] writes xl[i0] xl[i0] = x[i0] } } "
      "for i in 10 { block b { spatial v in 10 = i reads xl[v] writes yl[v] yl[v] = xl[v] } } "
      "for yl.0 in 10 { block yl { spatial i0 in 10 = yl.0 reads yl[i0] writes y[i0] y[i0] = yl[i0] } } }");
}

TEST_CASE("schedule: several blocks read one copy") {
  const std::string twice =
      "program p { input x: int32[8] output y: int32[8] output z: int32[8] alloc t: int32[8] "
      "for h in 8 { block s { spatial v in 8 = h reads x[v] writes t[v] t[v] = x[v] + 1 } } "
      "for i in 8 { block a { spatial v in 8 = i reads t[v] writes y[v] y[v] = t[v] } } "
      "for j in 8 { block b { spatial v in 8 = j reads t[7 - v] writes z[v] z[v] = t[7 - v] } } }";
  CHECK_THAT(
      scheduled(twice, "cache_read a,b t local -> tl"),
      Catch::Matchers::ContainsSubstring("y[v] = tl[v]") && Catch::Matchers::ContainsSubstring("z[v] = tl[7 - v]"));
  check_refused(twice, "cache_read b,a t local", "block a comes before b");
  check_refused(twice, "cache_read a,s t local", "block s does not read the buffer");
  check_refused(twice, "cache_read a,c t local", "program p has no block of this name");
  check_refused(
      "program p { input x: int32[1] output y: int32[1] output z: int32[1] alloc t: int32[1] block a { reads x[0] "
      "writes "
      "t[0] t[0] = x[0] } block c { reads t[0] writes y[0] y[0] = t[0] } block e { writes t[0] t[0] = 2 } block f { "
      "reads t[0] writes z[0] z[0] = t[0] } }",
      "cache_read c,f t local", "the buffer is written before block f, for which the copy would be stale");
}

TEST_CASE("schedule: set_scope and annotate") {
  check_becomes(
      "program p { output y: int32[1] alloc t: int32[1] block a { writes t[0] t[0] = 1 } block b { reads t[0] writes "
      "y[0] y[0] = t[0] } }",
      "set_scope t local\nannotate b note 7",
      "program p { output y: int32[1] alloc t: int32[1] in local block a { writes t[0] t[0] = 1 } block b @note(\"7\") "
      "{ reads t[0] writes y[0] y[0] = t[0] } }");
}

TEST_CASE("schedule: decompose_reduction") {
  check_becomes(kPrimitivesSum, "decompose_reduction b k -> z",
                "program p { input x: int32[3, 4] output y: int32[3] for i in 3 { block z { spatial v in 3 = i writes "
                "y[v] y[v] = 0 } "
                "for k in 4 { block b { spatial v in 3 = i reduce r in 4 = k reads y[v], x[v, r] writes y[v] y[v] = "
                "y[v] + x[v, r] } } } }");
}

TEST_CASE("schedule: decompose_reduction turns a select of the identity into a predicate") {
  check_becomes(
      "program p { input x: int32[4] output y: int32[1] for k in 6 { block b { reduce r in 6 = k reads y[0], x[0 +: 4] "
      "writes y[0] init { y[0] = -9 } y[0] = max(y[0], select(r < 4, x[r], -9)) } } }",
      "decompose_reduction b k -> z",
      "program p { input x: int32[4] output y: int32[1] block z { writes y[0] y[0] = -9 } "
      "for k in 6 { block b { reduce r in 6 = k where r < 4 reads y[0], x[r] writes y[0] y[0] = max(y[0], x[r]) } } }");
}

TEST_CASE("schedule: transform_layout") {
  check_becomes(
      kPrimitivesGrid, "transform_layout x i1/2,i0,i1%2",
      "program p { input x: int32[2, 3, 2] output y: int32[3, 4] for i in 3 { for j in 4 { block b { spatial v in 3 = "
      "i spatial w in 4 = j reads x[w // 2, v, w % 2] writes y[v, w] y[v, w] = x[w // 2, v, w % 2] } } } }");
  // With a swizzle.
  check_becomes(
      kPrimitivesGrid, "transform_layout x i0,i1^i0%2",
      "program p { input x: int32[3, 4] output y: int32[3, 4] for i in 3 { for j in 4 { block b { spatial v in 3 = i "
      "spatial w in 4 = j reads x[v, w ^ v % 2] writes y[v, w] y[v, w] = x[v, w ^ v % 2] } } } }");
}
