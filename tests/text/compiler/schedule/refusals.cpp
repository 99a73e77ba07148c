// Each rule of legality, violated once: the text that the user sees.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kRefusalsGrid =
    "program p { input x: int32[3, 4] output y: int32[3, 4] for i in 3 { for j in 4 { block b { spatial v in 3 = i "
    "spatial w in 4 = j reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } } }";
const std::string kRefusalsSum =
    "program p { input x: int32[4, 4] output y: int32[4] for i in 4 { for k in 4 { block b { spatial v in 4 = i reduce "
    "r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } }";
// Windows overlap: elements of y are computed by several pairs (i, j).
const std::string kRefusalsOverlap =
    "program p { input x: int32[5, 4] output y: int32[5] for i in 2 { for j in 3 { for k in 4 { block b { spatial v in "
    "5 = i * 2 + j reduce r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } } }";
const std::string kRefusalsChain =
    "program p { input x: int32[8] output y: int32[8] output z: int32[8] alloc t: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] } } "
    "for j in 8 { block b { spatial v in 8 = j reads t[v] writes y[v] y[v] = t[v] } } "
    "for k in 8 { block c { spatial v in 8 = k reads t[v] writes z[v] z[v] = t[v] } } }";
const std::string kPartial =
    "program p { output y: int32[4] alloc t: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i where v < 4 writes t[v] t[v] = 1 } } "
    "for j in 4 { block b { spatial v in 4 = j reads t[v] writes y[v] y[v] = t[v] } } }";

}  // namespace

TEST_CASE("schedule refusals: names and arguments") {
  check_refused(kRefusalsGrid, "split q 2",
                "cannot split q (schedule): program p has no loop of this name. Hint: the loops are i, j");
  check_refused(kRefusalsGrid, "split i 0", "the factor must be an integer of at least 1");
  check_refused(kRefusalsGrid, "split i 2 -> j n", "the name j is already used");
  check_refused(kRefusalsGrid, "split i 2 -> n v", "the name v is already used");
  check_refused(kRefusalsGrid, "split i 2 -> n n", "both new loops have the same name");
  check_refused(kRefusalsGrid, "split i 2 -> 3 n", "«3» is not a name");
  check_refused(kRefusalsGrid, "split i 2 -> n", "split has 2 results, not 1");
  check_refused(kRefusalsGrid, "split i", "split needs 2 arguments, not 1");
  check_refused(kRefusalsGrid, "annotate q a 1", "program p has no loop of this name");
}

TEST_CASE("schedule refusals: fuse keeps kinds") {
  check_refused(kRefusalsGrid, "fuse j i", "i is not the only statement directly inside j");
  check_refused(
      "program p { output y: int32[3, 4] for i in 3 parallel { for j in 4 { block b { spatial v in 3 = i spatial w in "
      "4 = j writes y[v, w] y[v, w] = 0 } } } }",
      "fuse i j", "i is parallel, j is serial");
}

TEST_CASE("schedule refusals: reorder keeps the start of every sum") {
  check_refused(kRefusalsSum, "reorder i i", "the loop is named twice");
  check_refused(kRefusalsSum, "fuse i k -> f\nsplit f 3 -> f0 f1\nreorder f1 f0",
                "block b would initialize some of its sums after adding parts of them");
  check_refused(
      kRefusalsOverlap, "reorder k i",
      "block b would initialize some of its sums after adding parts of them. Hint: apply decompose_reduction first");
  check_refused(
      "program p { output y: int32[2, 2] for i in 2 { for j in 2 { block b { ordered v in 2 = i ordered w in 2 = j "
      "writes y[v, w] y[v, w] = 0 } } } }",
      "reorder j i", "block b has ordered iterators whose loops would change places");
}

TEST_CASE("schedule refusals: decompose_reduction starts no element twice") {
  check_refused(kRefusalsOverlap, "decompose_reduction b i",
                "an element of the result is not provably initialized exactly once");
  check_refused(kRefusalsSum, "reorder k i\ndecompose_reduction b i", "loop k outside of i belongs to the reduction");
  check_refused(kRefusalsSum, "decompose_reduction b k -> z\ndecompose_reduction b k", "the block has no init");
}

TEST_CASE("schedule refusals: compute_at") {
  check_refused(kRefusalsChain, "compute_at a j", "block c, which reads t, is outside of loop j");
  check_refused(kRefusalsChain, "compute_at b k", "y is an output of the program");
  check_refused(kRefusalsChain, "compute_at a i", "loop i belongs to the block's own nest");
  // Two writers of x's copy: the operand of `a` changes in between.
  check_refused(
      "program p { output y: int32[2] alloc s: int32[2] alloc t: int32[2] "
      "for f in 2 { block w { spatial v in 2 = f writes s[v] s[v] = 1 } } "
      "for i in 2 { block a { spatial v in 2 = i reads s[v] writes t[v] t[v] = s[v] } } "
      "for g in 2 { block u { spatial v in 2 = g writes s[v] s[v] = 2 } } "
      "for j in 2 { block b { spatial v in 2 = j reads t[v] writes y[v] y[v] = t[v] } } }",
      "compute_at a j", "s, which the block reads, is written between the block and loop j");
}

TEST_CASE("schedule refusals: copies read all of a buffer, so all of it must be written") {
  check_refused(kPartial, "cache_read b t local",
                "the copy reads the whole buffer, but no earlier block provably writes all of it");
  check_refused(kPartial, "cache_write a t local", "block a does not provably write all of it");
  check_refused(kRefusalsGrid, "cache_read b y local", "block b does not read the buffer");
  check_refused(kRefusalsSum, "decompose_reduction b i -> z\ncache_write b y local",
                "block b updates what block z wrote");
  check_refused(kRefusalsSum, "cache_read b y local", "the buffer is written in the same nest");
}

TEST_CASE("schedule refusals: layouts and scopes") {
  check_refused(kRefusalsGrid, "set_scope x local", "the buffer is a parameter, whose memory the caller chooses");
  check_refused(kRefusalsGrid, "transform_layout x i0,i1/3,i1%3", "3 does not divide the extent 4 of dimension i1");
  check_refused(kRefusalsGrid, "transform_layout x i0,i1%2", "cover 2 of its 4 values");
  check_refused(kRefusalsGrid, "transform_layout x i2", "the buffer has dimensions i0 to i1");
}

TEST_CASE("schedule refusals: traces in text") {
  using namespace dovetail::schedule;
  const auto trace = parse_trace("# a comment\n split  i 4 ->a b # another\n\nfuse a b\n", "t");
  REQUIRE(trace.ok());
  CHECK(to_string(*trace) == "split i 4 ->a b\nfuse a b\n");
  const auto bad = parse_trace("split i 4\nfold i\nbend j\n", "t");
  REQUIRE(!bad.ok());
  CHECK_THAT(dovetail::to_string(bad.errors()),
             Catch::Matchers::ContainsSubstring("unknown schedule primitive fold (t:2)"));
  CHECK(bad.errors().size() == 2);
}
