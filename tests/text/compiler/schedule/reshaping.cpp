// Primitives that change what a block runs over: reindex, pad and rfactor.
#include "tests/text/compiler/schedule/schedule_case.h"

using namespace dovetail::schedule::test;

namespace {

const std::string kConv = R"(program conv { input x: int32[9] input w: int32[3] output y: int32[4]
  for i in 4 { for k in 3 { block c { spatial v in 4 = i reduce r in 3 = k reads y[v], x[v * 2 + r], w[r] writes y[v]
    init { y[v] = 0 } y[v] = y[v] + x[v * 2 + r] * w[r] } } } })";
const std::string kCopy =
    "program p { input x: int32[10] output y: int32[10] for i in 10 { block b { spatial v in 10 = i reads x[v] writes "
    "y[v] y[v] = x[v] } } }";
const std::string kSum = R"(program p { input x: int32[4, 10] output y: int32[4]
  for i in 4 { for k in 10 { block b { spatial v in 4 = i reduce r in 10 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } })";

}  // namespace

TEST_CASE("reindex: a convolution reads a row of its patch matrix") {
  check_becomes(kConv, "reindex c x -> m",
                R"(program conv { input x: int32[9] input w: int32[3] output y: int32[4] alloc m: int32[4, 3]
    for m.0 in 4 { for m.1 in 3 { block m { spatial v in 4 = m.0 spatial r in 3 = m.1 reads x[v * 2 + r] writes m[v, r] m[v, r] = x[v * 2 + r] } } }
    for i in 4 { for k in 3 { block c { spatial v in 4 = i reduce r in 3 = k reads y[v], m[v, r], w[r] writes y[v]
      init { y[v] = 0 } y[v] = y[v] + m[v, r] * w[r] } } } })");
}

TEST_CASE("schedule refusals: reindex") {
  check_refused(kConv, "reindex c y", "it is written in the same nest, so a copy made before would be stale");
  check_refused(kCopy, "reindex b y", "block b does not read it");
  check_refused(kConv, "reindex c x -> y", "the name y is taken");
  check_refused(
      "program p { input x: int32[4] output y: int32[3] for i in 3 { block b { spatial v in 3 = i reads x[v +: 2] "
      "writes y[v] y[v] = x[v] + x[v + 1] } } }",
      "reindex b x", "block b reads it at 2 different indices");
  check_refused(
      "program p { input x: int32[4] input j: int64[4] output y: int32[4] for i in 4 { block b { spatial v in 4 = i "
      "reads x[0 +: 4], j[v] writes y[v] y[v] = x[j[v]] } } }",
      "reindex b x", "its index j[v] depends on more than the block's iterators");
  check_refused(
      "program p { input x: int32[4] output y: int32[6] for i in 6 { block b { spatial v in 6 = i reads x[v] writes "
      "y[v] y[v] = select(v < 4, x[v], 0) } } }",
      "reindex b x",
      "index v of dimension 0 of buffer x is not proven in bounds: its range is 0 to 5, the extent 4. Hint: compute "
      "what masks it in a block of its own");
  check_refused(R"(program p { output y: int32[4] alloc t: int32[8]
    for i in 4 { block a { spatial v in 4 = i writes t[v] t[v] = 1 } }
    for j in 4 { block b { spatial v in 4 = j reads t[v] writes y[v] y[v] = t[v] } } })",
                "reindex b t", "no block before is shown to write all of it");
}

TEST_CASE("pad: extents become multiples, and a predicate leaves out what was added") {
  check_becomes(kCopy, "pad b v 4",
                "program p { input x: int32[10] output y: int32[10] for i in 12 { block b { spatial v in 12 = i where "
                "v < 10 reads x[v] writes y[v] y[v] = x[v] } } }");
  check_becomes(kCopy, "pad b v 5", kCopy);
  check_becomes(kSum, "pad b r 16\nsplit k 16 -> ko ki", R"(program p { input x: int32[4, 10] output y: int32[4]
    for i in 4 { for ko in 1 { for ki in 16 { block b { spatial v in 4 = i reduce r in 16 = ki where r < 10 reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } } })");
}

TEST_CASE("schedule refusals: pad") {
  check_refused(kCopy, "pad b w 4", "it has no iterator w. Hint: its iterators are v");
  check_refused(kCopy, "pad b v 0", "the multiple must be an integer of at least 1");
  check_refused(kCopy, "pad b v 2000000", "the multiple 2000000 is above 1048576");
  check_refused(kCopy, "split i 5 -> a c\npad b v 4", "iterator v is not bound to one loop of its extent");
  check_refused(kCopy, "bind i block.x\npad b v 4", "loop i is bound to block.x");
  check_refused(
      "program p { output y: int32[4] output z: int32[4] for i in 4 { block a { spatial v in 4 = i writes y[v] y[v] = "
      "0 } block b { spatial v in 4 = i writes z[v] z[v] = 0 } } }",
      "pad a v 3", "loop i holds more than the block");
  check_refused(
      "program p { output y: int32[4, 4] for i in 4 { block a { spatial v in 4 = i spatial w in 4 = i writes y[v, w] "
      "y[v, w] = 0 } } }",
      "pad a v 3", "iterator w runs over loop i too");
}

TEST_CASE("rfactor: partial sums, joined afterwards") {
  check_becomes(kSum, "split k 5 -> ko ki\nrfactor b ko -> q",
                R"(program p { input x: int32[4, 10] output y: int32[4] alloc q: int32[2, 4]
    for i in 4 { for ko in 2 { for ki in 5 { block q { spatial vko in 2 = ko spatial v in 4 = i reduce vki in 5 = ki
      reads q[vko, v], x[v, vko * 5 + vki] writes q[vko, v] init { q[vko, v] = 0 } q[vko, v] = q[vko, v] + x[v, vko * 5 + vki] } } } }
    for b.v in 4 { for b.vko in 2 { block b { spatial v in 4 = b.v reduce vko in 2 = b.vko
      reads y[v], q[vko, v] writes y[v] init { y[v] = 0 } y[v] = y[v] + q[vko, v] } } } })");
  // What makes it worth while: the partial sums are independent.
  CHECK_THAT(scheduled(kSum, "split k 5 -> ko ki\nrfactor b ko -> q\nreorder ko i\nparallel ko"),
             Catch::Matchers::ContainsSubstring("for ko in 2 parallel"));
}

TEST_CASE("schedule refusals: rfactor") {
  check_refused(kSum, "rfactor b i", "loop i moves the spatial iterator v");
  check_refused(kSum, "rfactor b j", "program p has no loop of that name");
  check_refused(kCopy, "rfactor b i", "it is not one store with an init");
  check_refused(kSum, "pad b r 24\nsplit k 8 -> ko ki\nrfactor b ko -> q",
                "where its predicate r < 10 fails, a partial result would have no start");
  check_refused(
      "program p { input x: int32[4] output y: int32[1] for k in 4 { block b { reduce r in 4 = k reads y[0], x[r] "
      "writes y[0] init { y[0] = 3 } y[0] = y[0] + x[r] } } }",
      "rfactor b k", "it starts at int32(3), so partial results cannot");
  check_refused(
      "program p { input x: int32[4] output y: int32[1] for k in 4 { block b { reduce r in 4 = k reads y[0], x[r] "
      "writes y[0] init { y[0] = 0 } y[0] = y[0] - x[r] } } }",
      "rfactor b k", "it does not combine its result with a value by +, *, min or max");
}
