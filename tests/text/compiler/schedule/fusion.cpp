// reverse_compute_at, inline and reverse_inline: their results, and the text of each refusal.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kReduction =
    "program p { input x: int32[10, 4] input c: int32[10] output z: int32[10] alloc y: int32[10] "
    "for i in 10 { for k in 4 { block b { spatial v in 10 = i reduce r in 4 = k reads y[v], x[v, r] writes y[v] init { "
    "y[v] = 0 } y[v] = y[v] + x[v, r] } } } ";
const std::string kEpilogue =
    kReduction +
    "for j in 10 { block e { spatial w in 10 = j reads y[w], c[w] writes z[w] z[w] = max(y[w] + c[w], 0) } } }";
const std::string kFusionChain =
    "program p { input x: int32[8] input c: int32[8] output y: int32[7] alloc t: int32[8] "
    "for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } } "
    "for j in 7 { block b { spatial v in 7 = j reads t[v +: 2] writes y[v] y[v] = t[v] * t[v + 1] } } }";
const std::string kTwo =
    "program p { input x: int32[3, 4] output y: int32[4, 3] alloc t: int32[3, 4] "
    "for i in 3 { for j in 4 { block a { spatial v in 3 = i spatial w in 4 = j reads x[v, w] writes t[v, w] t[v, w] = "
    "x[v, w] + 1 } } } "
    "for k in 4 { for l in 3 { block b { spatial v in 4 = k spatial w in 3 = l reads t[w, v] writes y[v, w] y[v, w] = "
    "t[w, v] * 2 } } } }";

}  // namespace

TEST_CASE("schedule: reverse_compute_at moves an epilogue to the end of a tile, masked at the edge") {
  check_becomes(kEpilogue, "split i 4 -> o n\nreorder o k n\nreverse_compute_at e o",
                "program p { input x: int32[10, 4] input c: int32[10] output z: int32[10] alloc y: int32[10] "
                "for o in 3 { for k in 4 { for n in 4 { block b { spatial v in 10 = o * 4 + n reduce r in 4 = k where "
                "o * 4 + n < 10 reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } "
                "for j in 4 { block e { spatial w in 10 = o * 4 + j where o * 4 + j < 10 reads y[w], c[w] writes z[w] "
                "z[w] = max(y[w] + c[w], 0) } } } }");
}

TEST_CASE("schedule: reverse_compute_at under a single iteration makes no loops, and a chain of epilogues follows") {
  check_becomes(
      kTwo, "reverse_compute_at b j",
      "program p { input x: int32[3, 4] output y: int32[4, 3] alloc t: int32[3, 4] "
      "for i in 3 { for j in 4 { block a { spatial v in 3 = i spatial w in 4 = j reads x[v, w] writes t[v, w] t[v, w] "
      "= x[v, w] + 1 } "
      "block b { spatial v in 4 = j spatial w in 3 = i reads t[w, v] writes y[v, w] y[v, w] = t[w, v] * 2 } } } }");
  CHECK_THAT(scheduled(kEpilogue,
                       "cache_write e z local -> zl\nsplit i 5 -> o n\nreorder o k n\nreverse_compute_at e "
                       "o\nreverse_compute_at zl o\nparallel o"),
             Catch::Matchers::ContainsSubstring("for o in 2 parallel"));
}

TEST_CASE("schedule: inline substitutes a producer into its readers") {
  check_becomes(
      kFusionChain, "inline a",
      "program p { input x: int32[8] input c: int32[8] output y: int32[7] "
      "for j in 7 { block b { spatial v in 7 = j reads x[v +: 2] writes y[v] y[v] = (x[v] + 1) * (x[v + 1] + 1) } } }");
}

TEST_CASE("schedule: inline of a padding into the reader's load") {
  CHECK_THAT(scheduled("program p { input x: int32[4] output y: int32[4] alloc t: int32[6] "
                       "for i in 6 { block a { spatial v in 6 = i reads x[0 +: 4] writes t[v] t[v] = select(v >= 1 && "
                       "v < 5, x[v - 1], 0) } } "
                       "for j in 4 { for k in 3 { block b { spatial v in 4 = j reduce r in 3 = k reads y[v], t[v + r] "
                       "writes y[v] init { y[v] = 0 } y[v] = y[v] + t[v + r] } } } }",
                       "inline a"),
             Catch::Matchers::ContainsSubstring("y[v] = y[v] + select(v + r >= 1 && v + r < 5, x[v + r - 1], 0)"));
}

TEST_CASE("schedule: reverse_inline folds a consumer into its producer's store") {
  check_becomes(kTwo, "reverse_inline b",
                "program p { input x: int32[3, 4] output y: int32[4, 3] "
                "for i in 3 { for j in 4 { block a { spatial v in 3 = i spatial w in 4 = j reads x[v, w] writes y[w, "
                "v] y[w, v] = (x[v, w] + 1) * 2 } } } }");
}

TEST_CASE("schedule refusals: reverse_compute_at") {
  // Points that are not read must be computed too.
  check_refused(R"(program p { input x: int32[4] output y: int32[6] alloc t: int32[4]
    for i in 4 { block a { spatial v in 4 = i reads x[v] writes t[v] t[v] = x[v] + 1 } }
    for j in 6 { block b { spatial w in 6 = j reads t[w] writes y[w] y[w] = select(w < 4, t[w], 0) } } })",
                "reverse_compute_at b i", "the block's iterator w has 6 values, but dimension 0 of t has 4 elements");
  check_refused(kEpilogue, "reverse_compute_at e j",
                "cannot reverse_compute_at e (schedule): loop j belongs to the block's own nest. Hint: name a loop of "
                "its producer");
  check_refused(kEpilogue, "reorder k i\nreverse_compute_at e k",
                "iterations of k and its enclosing loops do not provably write disjoint elements of y. Hint: name a "
                "loop outside all loops of the reduction");
  check_refused(kEpilogue, "split k 2 -> ko ki\nreorder ko i ki\nreverse_compute_at e i",
                "iterations of i and its enclosing loops do not provably write disjoint elements of y");
  check_refused(kEpilogue, "reverse_compute_at b j",
                "iterator r of the block is reduce, not spatial. Hint: move elementwise blocks");
  check_refused(kEpilogue, "decompose_reduction b k -> z0\nreverse_compute_at e k",
                "block z0, which writes y, is outside of loop k. Hint: name a loop that encloses all writers");
  check_refused(kFusionChain, "reverse_compute_at b i",
                "the block does not read t at the same distinct iterators everywhere. Hint: move the producer to the "
                "block with compute_at");
  check_refused(kTwo, "reverse_compute_at a l",
                "loop l computes nothing that the block reads. Hint: name a loop of the block's producer");
  check_refused(
      kReduction + "for j in 10 { block e { spatial w in 10 = j where j < 5 reads y[w] writes z[w] z[w] = y[w] } } }",
      "reverse_compute_at e i",
      "the block's predicate j < 5 depends on its own loops, which this step rebuilds. Hint: move the block before "
      "splitting its loops");
  check_refused(
      "program p { input x: int32[4] output z: int32[4] output y: int32[4] alloc t: int32[4] "
      "for i in 4 { block a { spatial v in 4 = i reads x[v] writes t[v] t[v] = x[v] } } for g in 4 { block u { spatial "
      "v in 4 = g reads x[v] writes z[v] z[v] = x[v] } } "
      "for j in 4 { block b { spatial v in 4 = j reads t[v], z[v] writes y[v] y[v] = t[v] + z[v] } } }",
      "reverse_compute_at b i", "z, which the block reads, is written in or after the nest of i");
  check_refused(
      kReduction + "for j in 10 { block e { spatial w in 10 = j reads y[w], c[w] writes z[w] z[w] = y[w] } } }",
      "compute_at b j\nreverse_compute_at e k", "the block shares loop j with other blocks");
}

// In a tile of 3, the consumer's second pair has one more element, which is not written yet.
TEST_CASE("schedule refusals: compute_at of a block whose operand the outer nest has not written") {
  const std::string tiles =
      "program p { input x: int32[6] output z: int32[6] alloc y: int32[6] alloc t: int32[6] for o in 2 { "
      "for i in 3 { block a { spatial v in 6 = o * 3 + i reads x[v] writes y[v] y[v] = x[v] + 1 } } "
      "for j in 3 { block b { spatial v in 6 = o * 3 + j reads y[v] writes t[v] t[v] = y[v] * 2 } } "
      "for k in 3 { block c { spatial v in 6 = o * 3 + k reads t[v] writes z[v] z[v] = t[v] + 3 } } } }";
  check_refused(tiles, "split k 2 -> p q\ncompute_at b q",
                "the block would compute values of v there that it does not compute now");
  CHECK_THAT(scheduled(tiles, "compute_at b k"), Catch::Matchers::ContainsSubstring("spatial v in 6 = k + o * 3"));
  CHECK_THAT(scheduled(tiles, "split k 3 -> p q\ncompute_at b q"),
             Catch::Matchers::ContainsSubstring("spatial v in 6 = q + o * 3"));
}

TEST_CASE("schedule refusals: inline") {
  check_refused(kEpilogue, "inline b",
                "cannot inline b (schedule): iterator r of block b is reduce, not spatial. Hint: leave the block "
                "separate: it has a reduction or a fixed order");
  check_refused(
      kFusionChain, "inline b",
      "y is an output of the program, and must be stored. Hint: inline the producer of an intermediate buffer");
  check_refused(kTwo, "transform_layout t i0,i1/2,i1%2\ninline a",
                "the indices of t are not distinct spatial iterators of the block");
  check_refused(
      "program p { output y: int32[2] alloc t: int32[4] for i in 4 { block a { spatial v in 4 = i where v < 2 writes "
      "t[v] t[v] = 1 } } "
      "for j in 2 { block b { spatial v in 2 = j reads t[v] writes y[v] y[v] = t[v] } } }",
      "inline a", "the block's predicate v < 2 masks a part of t");
  check_refused(
      "program p { output y: int32[2] alloc s: int32[2] alloc t: int32[2] "
      "for f in 2 { block w { spatial v in 2 = f writes s[v] s[v] = 1 } } "
      "for i in 2 { block a { spatial v in 2 = i reads s[v] writes t[v] t[v] = s[v] } } "
      "for g in 2 { block u { spatial v in 2 = g writes s[v] s[v] = 2 } } "
      "for j in 2 { block b { spatial v in 2 = j reads t[v] writes y[v] y[v] = t[v] } } }",
      "inline a",
      "block u writes s, which the inlined block reads, but is not in an earlier nest. Hint: inline before compute_at "
      "moves both into one nest");
}

TEST_CASE("schedule: reverse_inline folds a consumer into each of several blocks that write a part of its operand") {
  const std::string two_halves =
      R"(program p { input x: int32[4] input z: int32[4] input b: int32[8] output y: int32[8] alloc t: int32[8]
    for i in 4 { block l { spatial v in 4 = i reads x[v] writes t[v] t[v] = x[v] * 2 } }
    for j in 4 { block r { spatial v in 4 = j reads z[v] writes t[v + 4] t[v + 4] = z[v] } }
    for k in 8 { block e { spatial v in 8 = k reads t[v], b[v] writes y[v] y[v] = t[v] + b[v] } } })";
  check_becomes(two_halves, "reverse_inline e",
                R"(program p { input x: int32[4] input z: int32[4] input b: int32[8] output y: int32[8]
    for i in 4 { block l { spatial v in 4 = i reads x[v], b[v] writes y[v] y[v] = x[v] * 2 + b[v] } }
    for j in 4 { block r { spatial v in 4 = j reads z[v], b[v + 4] writes y[v + 4] y[v + 4] = z[v] + b[v + 4] } } })");
  // One of them adds to the result of the other.
  check_refused(R"(program p { input x: int32[4] output y: int32[4] alloc t: int32[4]
    for i in 4 { block l { spatial v in 4 = i reads x[v] writes t[v] t[v] = x[v] * 2 } }
    for j in 4 { block r { spatial v in 4 = j reads t[v] writes t[v] t[v] = t[v] + 1 } }
    for k in 4 { block e { spatial v in 4 = k reads t[v] writes y[v] y[v] = max(t[v], 0) } } })",
                "reverse_inline e", "block r reads t, which it writes");
}

TEST_CASE("schedule refusals: reverse_inline") {
  check_refused(kEpilogue, "reverse_inline e",
                "cannot reverse_inline e (schedule): iterator r of block b is reduce, not spatial. Hint: the epilogue "
                "of a reduction remains a block: move it with reverse_compute_at");
  check_refused(kFusionChain, "reverse_inline b", "the block does not read all of t at exactly its own iterators");
  check_refused(kTwo, "compute_at a k\nreverse_inline b",
                "the block shares a loop or a condition with others. Hint: apply this step before compute_at and "
                "reverse_compute_at");
  check_refused(kTwo, "reverse_inline a", "the block reads no buffer that another block computes");
  check_refused(
      "program p { input x: int32[4] output y: int32[4] output z: int32[4] alloc t: int32[4] "
      "for i in 4 { block a { spatial v in 4 = i reads x[v] writes t[v] t[v] = x[v] } } for g in 4 { block u { spatial "
      "v in 4 = g reads t[v] writes z[v] z[v] = t[v] } } "
      "for j in 4 { block b { spatial v in 4 = j reads t[v] writes y[v] y[v] = t[v] } } }",
      "reverse_inline b", "block u reads t too");
}
