// blockize: a nest becomes a block that later steps treat as a whole.
#include "tests/text/compiler/schedule/schedule_case.h"

#include "loops/interpreter.h"

using namespace dovetail;
using namespace dovetail::schedule::test;

namespace {

const std::string kBlockizeCopy =
    "program p { input x: int32[12] output y: int32[12] for o in 3 { for i in 4 { block b { spatial v in 12 = o * 4 + "
    "i reads x[v] writes y[v] y[v] = x[v] } } } }";
const std::string kTiled =
    R"(program p { input x: int32[12] output y: int32[12] for o in 3 { block t { spatial t.v in 3 = o reads x[t.v * 4 +: 4] writes y[t.v * 4 +: 4]
  for i in 4 { block b { spatial v in 12 = t.v * 4 + i reads x[v] writes y[v] y[v] = x[v] } } } } })";
const std::string kBlockizeProduct = R"(program p { input x: int32[4, 6] input w: int32[6] output y: int32[4]
  for i in 4 { block z { spatial u in 4 = i writes y[u] y[u] = 0 } }
  for io in 2 { for ko in 3 { for ii in 2 { for ki in 2 { block b { spatial v in 4 = io * 2 + ii reduce r in 6 = ko * 2 + ki
    reads y[v], x[v, r], w[r] writes y[v] y[v] = y[v] + x[v, r] * w[r] } } } } } })";
const std::string kBlockizeSum =
    "program p { input x: int32[3, 4] output y: int32[3] for i in 3 { for k in 4 { block b { spatial v in 3 = i reduce "
    "r in 4 = k reads y[v], x[v, r] writes y[v] init { y[v] = 0 } y[v] = y[v] + x[v, r] } } } }";
const std::string kBlockizeChain = R"(program p { input x: int32[8] output y: int32[8] alloc t: int32[8]
  for i in 8 { block a { spatial v in 8 = i reads x[v] writes t[v] t[v] = x[v] + 1 } }
  for j in 2 { for k in 4 { block b { spatial v in 8 = j * 4 + k reads t[v] writes y[v] y[v] = t[v] * 2 } } } })";

NdArray counted(Shape shape) {
  NdArray values(DType::int32, std::move(shape));
  for (std::int64_t i = 0; i < values.count(); ++i) values.set_int64(i, i * 7 % 11 - 3);
  return values;
}

}  // namespace

TEST_CASE("blockize: an iterator over loops outside and inside is split in two") {
  check_becomes(kBlockizeCopy, "blockize i -> t", kTiled);
}

TEST_CASE("blockize: kinds are kept, and iterators over only inner loops stay inside") {
  const std::string text = scheduled(kBlockizeProduct, "blockize ki -> t");
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("spatial t.v in 4 = io * 2 + ii\n"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("reduce t.r in 3 = ko\n"));
  CHECK_THAT(text, Catch::Matchers::ContainsSubstring("reduce r in 6 = t.r * 2 + ki\n"));
  const std::string whole = scheduled(kBlockizeProduct, "blockize io -> t");
  CHECK_THAT(whole, Catch::Matchers::ContainsSubstring(
                        "block t {\n    reads y[0 +: 4], x[0 +: 4, 0 +: 6], w[0 +: 6]\n    writes y[0 +: 4]\n"));
}

TEST_CASE("blockize: the outer loops can be scheduled further, and the values stay") {
  const auto program = parsed(kBlockizeProduct);
  const std::vector<NdArray> arguments{counted({4, 6}), counted({6})};
  const auto expected = loops::evaluate(program, arguments);
  REQUIRE(expected.ok());
  const std::string text = scheduled(kBlockizeProduct,
                                     "blockize ii -> t\nreorder ko io\nsplit ko 2 -> k0 k1\nunroll k1\nparallel "
                                     "io\nannotate t note 1\nannotate io note 2");
  const auto actual = loops::evaluate(parsed(text), arguments);
  REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
  for (std::int64_t i = 0; i < 4; ++i) CHECK((*actual)[0].as_int64(i) == (*expected)[0].as_int64(i));
  CHECK_THAT(scheduled(kBlockizeProduct, "blockize ii -> t\nfuse io ko -> f"),
             Catch::Matchers::ContainsSubstring("spatial t.v in 2 = f // 3"));
}

TEST_CASE("blockize: a split that does not divide the extent masks the block, and nothing inside") {
  check_becomes(kBlockizeCopy, "blockize i -> t\nsplit o 2 -> a c",
                R"(program p { input x: int32[12] output y: int32[12] for a in 2 { for c in 2 {
    block t { spatial t.v in 3 = a * 2 + c where a * 2 + c < 3 reads x[t.v * 4 +: 4] writes y[t.v * 4 +: 4]
      for i in 4 { block b { spatial v in 12 = t.v * 4 + i reads x[v] writes y[v] y[v] = x[v] } } } } } })");
}

TEST_CASE("blockize: a producer is computed where the block needs it") {
  CHECK_THAT(scheduled(kBlockizeChain, "blockize k -> q\ncompute_at a j"),
             Catch::Matchers::ContainsSubstring("for i in 4 {\n      block a {\n        spatial v in 8 = j * 4 + i\n"));
  CHECK_THAT(scheduled(kBlockizeChain, "blockize k -> q\ntransform_layout t i0/4,i0%4"),
             Catch::Matchers::ContainsSubstring("y[v] = t[v // 4, v % 4] * 2"));
}

TEST_CASE("schedule refusals: blockize") {
  check_refused(kBlockizeSum, "blockize k", "block b initializes its result. Hint: apply decompose_reduction first");
  check_refused(kBlockizeCopy, "split i 3 -> a c\nblockize c",
                "masks block b. Hint: split by a factor that divides the extent, or peel the remainder first");
  check_refused(kBlockizeCopy, "unroll i\nblockize i",
                "loop i is unrolled, but the guarantee of its kind is not visible inside a block");
  check_refused(kBlockizeCopy, "reorder i o\nblockize o",
                "iterator v = o * 4 + i is not the sum of a multiple of f from the outer loops and 0 to f - 1 from the "
                "inner ones");
  check_refused(kBlockizeCopy, "blockize q", "program p has no loop of this name");
  check_refused(kBlockizeCopy, "blockize i -> o", "the name o is already used");
  check_refused(kBlockizeChain, "compute_at a j\nblockize j", "the nest contains more than one block");
  check_refused(kBlockizeCopy, "blockize i -> t\nblockize o",
                "block t contains block b. Hint: apply this step before blockize");
  check_refused(
      "program p { output y: int32[2, 3] for i in 2 { block b { spatial v in 2 = i writes y[v, 0 +: 3] for j in 3 { "
      "y[v, j] = 0 } } } }",
      "blockize i", "block b contains more than one store or call");
}

TEST_CASE("schedule refusals: the inside of a block is closed") {
  check_refused(
      kTiled, "split i 2",
      "cannot split i (schedule): the loop belongs to the body of block t. Hint: schedule it before blockize");
  check_refused(
      kTiled, "annotate b note 1",
      "cannot annotate b (schedule): the block belongs to the body of block t. Hint: schedule it before blockize");
  check_refused(kTiled, "cache_read b x local", "the block belongs to the body of block t");
  check_refused(kTiled, "cache_read t x local", "block t contains block b. Hint: apply this step before blockize");
  check_refused(kTiled, "vectorize o", "block t holds more than stores");
  check_refused(kBlockizeChain, "split i 4 -> i0 i1\nblockize i1 -> q\ncompute_at q j", "block q contains block a");
  check_refused(kBlockizeChain, "blockize k -> q\nreverse_compute_at q i", "block q contains block b");
  check_refused(kBlockizeChain, "blockize k -> q\ninline a", "block q contains block b");
  check_refused(kBlockizeProduct, "blockize ii -> t\nparallel ko", "carry the reduce iterator t.r of block t");
}

TEST_CASE("schedule refusals: nested blocks that blockize does not make") {
  check_refused(
      "program p { output y: int32[3] for o in 3 { block t { spatial u in 3 = o writes y[u] block b { spatial v in 3 = "
      "u where v < 9 writes y[v] y[v] = 0 } } } }",
      "unroll o", "block t contains blocks in a form that blockize does not generate");
}
