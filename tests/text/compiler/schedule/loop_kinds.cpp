// unroll, vectorize and parallel: accepted loops, and the text of each refusal.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kLoopKindsGrid =
    "program p { input x: int32[3, 4] output y: int32[3, 4] for i in 3 { for j in 4 { block b { spatial v in 3 = i "
    "spatial w in 4 = j reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } } }";
const std::string kLoopKindsSum =
    "program p { input x: int32[3, 4] output y: int32[3] for i in 3 { for k in 4 { block b { spatial v in 3 = i reduce "
    "r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } }";
const std::string kLoopKindsChain =
    "program p { input x: int32[9] output y: int32[8] alloc t: int32[9] "
    "for i in 9 { block a { spatial v in 9 = i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
    "for j in 2 { for k in 4 { block b { spatial v in 8 = j * 4 + k reads t[v +: 2] writes y[v] y[v] = t[v] + t[v + 1] "
    "} } } }";
// Both elements of an iteration of i; the windows of neighbors overlap.
const std::string kLoopKindsOverlap =
    "program p { input x: int32[5] output y: int32[4] for i in 3 { for j in 2 { block b { spatial v in 4 = i + j reads "
    "x[v] writes y[v] y[v] = x[v] } } } }";

std::string large(const std::string& extent) {
  return "program p { output y: int32[" + extent + "] for i in " + extent + " { block b { spatial v in " + extent +
         " = i writes y[v] y[v] = 0 } } }";
}

}  // namespace

TEST_CASE("schedule: unroll, vectorize and parallel set the kind of a loop") {
  check_becomes(
      kLoopKindsGrid, "parallel i\nvectorize j",
      "program p { input x: int32[3, 4] output y: int32[3, 4] for i in 3 parallel { for j in 4 vectorized { block b { "
      "spatial v in 3 = i spatial w in 4 = j reads x[v, w] writes y[v, w] y[v, w] = x[v, w] } } } }");
  check_becomes(
      kLoopKindsSum, "unroll k",
      "program p { input x: int32[3, 4] output y: int32[3] for i in 3 { for k in 4 unrolled { block b { spatial v in 3 "
      "= i reduce r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } }");
}

TEST_CASE("schedule: parallel and vectorize accept split, fused and masked loops") {
  CHECK_THAT(scheduled(kLoopKindsGrid, "fuse i j -> f\nparallel f"),
             Catch::Matchers::ContainsSubstring("for f in 12 parallel"));
  CHECK_THAT(scheduled(kLoopKindsGrid, "fuse i j -> f\nsplit f 6 -> o n\nparallel o"),
             Catch::Matchers::ContainsSubstring("for o in 2 parallel"));
  CHECK_THAT(scheduled(kLoopKindsGrid, "split j 3 -> o n\nvectorize n\nparallel i"),
             Catch::Matchers::ContainsSubstring("for n in 3 vectorized"));
  CHECK_THAT(scheduled(kLoopKindsSum, "split i 2 -> o n\nreorder o k n\nvectorize n"),
             Catch::Matchers::ContainsSubstring("for n in 2 vectorized"));
  CHECK_THAT(scheduled(kLoopKindsGrid, "split j 2 -> o n\nreorder n o\nunroll o\nvectorize n"),
             Catch::Matchers::ContainsSubstring("for o in 2 unrolled"));
}

TEST_CASE("schedule: a vector may load from data-dependent indices, but not store there") {
  CHECK_THAT(scheduled("program p { input x: int64[8] input t: int32[9] output y: int32[8] for i in 8 { block b { "
                       "spatial v in 8 = i reads x[v], t[0 +: 9] writes y[v] y[v] = t[x[v] + 1] } } }",
                       "vectorize i"),
             Catch::Matchers::ContainsSubstring("for i in 8 vectorized"));
}

TEST_CASE("schedule: a buffer that each iteration writes before it reads is private to it") {
  CHECK_THAT(scheduled(kLoopKindsChain, "compute_at a j\nparallel j"),
             Catch::Matchers::ContainsSubstring("for j in 2 parallel"));
  CHECK_THAT(scheduled(kLoopKindsChain, "parallel j\ncompute_at a j"),
             Catch::Matchers::ContainsSubstring("for j in 2 parallel"));
  // Each iteration has its own sum.
  CHECK_THAT(scheduled("program p { input x: int32[3, 4] output y: int32[3] alloc t: int32[1] for i in 3 { "
                       "for k in 4 { block a { spatial u in 3 = i reduce r in 4 = k reads t[0], x[u, r] writes t[0] "
                       "init { t[0] = 0 } t[0] = t[0] + x[u, r] } } "
                       "block b { spatial v in 3 = i reads t[0] writes y[v] y[v] = t[0] } } }",
                       "parallel i"),
             Catch::Matchers::ContainsSubstring("for i in 3 parallel"));
}

TEST_CASE("schedule refusals: kinds of loops") {
  check_refused(kLoopKindsGrid, "unroll q",
                "cannot unroll q (schedule): program p has no loop of this name. Hint: the loops are i, j");
  check_refused(kLoopKindsGrid, "unroll i\nparallel i",
                "cannot parallel i (schedule): the loop is already unrolled. Hint: name a serial loop");
  check_refused(
      large("1025"), "unroll i",
      "the unrolled loops there would make 1025 copies, more than 1024. Hint: split it and unroll the inner loop");
  check_refused(large("257"), "vectorize i",
                "it has 257 iterations, but a vector has at most 256 lanes. Hint: split it and "
                "vectorize the inner loop");
  check_refused(kLoopKindsGrid, "parallel i\nparallel j",
                "loop i is already parallel, and parallel loops cannot be nested. Hint: fuse the loops, and make the "
                "fused one parallel");
  check_refused(kLoopKindsGrid, "vectorize i",
                "loop j below it is serial, but only unrolled loops may be below a vectorized one. Hint: reorder it "
                "outwards or unroll it");
  check_refused(kLoopKindsGrid, "unroll j\nvectorize i\nsplit j 2\nvectorize j_1",
                "cannot split j (schedule): the step would invalidate vectorized loop i: loop j_0 below it is serial");
  check_refused(kLoopKindsGrid, "fuse i j -> f\nvectorize f",
                "index v of x in block b does not move with it by a constant step. Hint: split so that each vector "
                "stays within one row");
  check_refused(
      "program p { input x: int32[4] output y: int32[4] for i in 4 { block b { spatial v in 4 = i reads x[v] writes "
      "y[v] if x[v] > 0 { y[v] = 1 } else { y[v] = 0 } } } }",
      "vectorize i", "block b holds more than stores");
}

TEST_CASE("schedule refusals: iterations that depend on each other") {
  check_refused(kLoopKindsSum, "parallel k",
                "its 4 iterations carry the reduce iterator r of block b. Hint: rfactor the reduction, or name a loop "
                "that feeds spatial iterators alone");
  check_refused(kLoopKindsSum, "vectorize k", "its 4 iterations carry the reduce iterator r of block b");
  check_refused("program p { output y: int32[4] for i in 4 { block b { ordered v in 4 = i writes y[v] y[v] = 0 } } }",
                "parallel i", "its 4 iterations carry the ordered iterator v of block b");
  check_refused(kLoopKindsOverlap, "parallel i",
                "two of its 3 iterations may touch one element of y, and y is a parameter of the program");
  // One iteration writes an element that the next one reads.
  check_refused(
      "program p { input x: int32[5] output y: int32[4] for i in 4 { block a { spatial v in 4 = i reads x[v] writes "
      "y[v] y[v] = x[v] } "
      "block b { spatial w in 4 = i where w > 0 reads y[w - 1] writes y[w] y[w] = y[w - 1] } } }",
      "parallel i", "two of its 4 iterations may touch one element of y");
  check_refused(
      "program p { input x: int32[4] output y: int32[4] output z: int32[4] alloc t: int32[1] for i in 4 { block a { "
      "spatial v in 4 = i reads x[v] writes t[0] t[0] = x[v] } "
      "block b { spatial w in 4 = i reads t[0] writes y[w] y[w] = t[0] } } for j in 4 { block c { spatial u in 4 = j "
      "reads t[0] writes z[u] z[u] = t[0] } } }",
      "parallel i", "two of its 4 iterations may touch one element of t, and block c, outside of i, also uses t");
  check_refused(
      "program p { input x: int32[4] output y: int32[4] alloc t: int32[1] for i in 4 { block a { spatial v in 4 = i "
      "where v < 2 reads x[v] writes t[0] t[0] = x[v] } "
      "block b { spatial w in 4 = i reads t[0] writes y[w] y[w] = t[0] } } }",
      "parallel i", "block b reads elements of t that the same iteration does not provably write before");
}

TEST_CASE("schedule refusals: later steps keep the promise of a kind") {
  check_refused(
      "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] for i in 8 { block a { spatial v in 8 = i "
      "reads x[v] writes t[v] t[v] = x[v] } } "
      "for j in 8 { block b { spatial v in 8 = j reads t[v] writes y[v] y[v] = t[v] } } }",
      "split j 4 -> o n\nvectorize n\ntransform_layout y i0/2,i0%2",
      "cannot transform_layout y (schedule): the step would invalidate vectorized loop n: index v // 2 of y in block b "
      "does not move with it by a constant step. Hint: apply this step earlier, or");
}
