// merge: its results, and the text of each refusal.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kPair =
    "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
    "for j in 8 { block b { spatial v in 8 = j reads t[v] writes y[v] y[v] = t[v] * 2 } } }";
// Two sums over the same rows, each with an init between the loops of both.
const std::string kSums =
    "program p { input x: int32[4, 6] output y: int32[4] output z: int32[4] "
    "for i in 4 { for k in 6 { block a { spatial v in 4 = i reduce r in 6 = k reads y[v], x[v, r] writes y[v] "
    "init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } "
    "for j in 4 { for l in 6 { block b { spatial v in 4 = j reduce r in 6 = l reads z[v], x[v, r] writes z[v] "
    "init { z[v] = 1 } z[v] = max(z[v], x[v, r]) } } } }";
// One loop reads elements that another iteration of the other writes.
const std::string kBackward =
    "program p { input x: int32[9] output y: int32[8] alloc t: int32[9] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v + 1] writes t[v + 1] t[v + 1] = x[v + 1] } } "
    "for j in 8 { block b { spatial v in 8 = j reads t[7 - v + 1] writes y[v] y[v] = t[7 - v + 1] } } }";
const std::string kThree =
    "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] alloc u: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
    "for j in 8 { block b { spatial v in 8 = j reads t[v] writes u[v] u[v] = t[v] * 2 } } "
    "for k in 8 { block c { spatial v in 8 = k reads t[v], u[v] writes y[v] y[v] = t[v] * u[v] } } }";

}  // namespace

TEST_CASE("schedule: merge makes one loop of two, a consumer after its producer") {
  check_becomes(kPair, "merge i j -> m",
                "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] for m in 8 { "
                "block a { spatial v in 8 = m reads x[v] writes t[v] t[v] = x[v] + 1 } "
                "block b { spatial v in 8 = m reads t[v] writes y[v] y[v] = t[v] * 2 } } }");
}

TEST_CASE("schedule: merge keeps the first loop's name, and merges a third") {
  check_becomes(kThree, "merge i j\nmerge i k",
                "program p { input x: int32[8] output y: int32[8] alloc t: int32[8] alloc u: int32[8] for i in 8 { "
                "block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } "
                "block b { spatial v in 8 = i reads t[v] writes u[v] u[v] = t[v] * 2 } "
                "block c { spatial v in 8 = i reads t[v], u[v] writes y[v] y[v] = t[v] * u[v] } } }");
}

TEST_CASE("schedule: merge lets sums share a loop of their reduction, after their initialization") {
  check_becomes(
      kSums, "reorder k i\nreorder l j\ndecompose_reduction a k\ndecompose_reduction b l\nmerge k l -> m",
      "program p { input x: int32[4, 6] output y: int32[4] output z: int32[4] "
      "for a.init.i in 4 { block a.init { spatial v in 4 = a.init.i writes y[v] y[v] = 0 } } "
      "for b.init.j in 4 { block b.init { spatial v in 4 = b.init.j writes z[v] z[v] = 1 } } "
      "for m in 6 { "
      "for i in 4 { block a { spatial v in 4 = i reduce r in 6 = m reads y[v], x[v, r] writes y[v] y[v] = y[v] + x[v, "
      "r] } } "
      "for j in 4 { block b { spatial v in 4 = j reduce r in 6 = m reads z[v], x[v, r] writes z[v] z[v] = max(z[v], "
      "x[v, r]) } } } }");
}

TEST_CASE("schedule: merge refuses loops that are not equal, or not adjacent") {
  check_refused(kPair, "merge j i", "j does not come before i");
  check_refused(kPair, "merge i i", "i does not come before i");
  check_refused(kPair, "split i 2 -> o n\nmerge n j", "n and j are not statements of one sequence");
  check_refused(kPair, "split i 2 -> o n\nmerge o j", "the loop has 4 iterations, but j has 8");
  check_refused(kPair, "parallel i\nmerge i j", "i is parallel, but j is serial");
  check_refused(kPair, "annotate i key value\nmerge i j", "j has other annotations");
  check_refused(kPair, "merge i j -> x", "the name x is already used");
  check_refused(kPair, "merge i nowhere", "nowhere");
}

TEST_CASE("schedule: merge refuses loops whose iterations depend on each other") {
  check_refused(kBackward, "merge i j",
                "an iteration of j may access elements of t that another iteration of i accesses");
  check_refused(kThree, "merge i k", "a statement between this loop and k also accesses t");
}
