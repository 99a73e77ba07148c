// The corpus that libFuzzer has found (./dev fuzz), replayed, and seeded mutations of it and of the seed models: the
// part of fuzzing that CI runs without clang.
#include <map>
#include <random>

#include "compiler/ops/op.h"
#include "tests/catch.h"
#include "tests/fuzz/compiler/import/message_tree.h"
#include "tests/fuzz/compiler/import/mutate_model.h"
#include "tests/fuzz/compiler/import/seed_models.h"
#include "tests/fuzz/compiler/import/take_model.h"
#include "tests/fuzz/replay.h"

namespace dovetail {
namespace {

using test::Bytes;

const char* const kCorpus = "tests/fuzz/compiler/import/corpus.zip";

void take(const Bytes& bytes) {
  const test::Taken taken = test::take_model(bytes);
  if (!taken.broken.empty()) FAIL_CHECK(taken.broken);
}

}  // namespace

TEST_CASE("seed models are valid, and there is one for nearly every operator") {
  const auto seeds = test::seed_models();
  std::map<std::string, int> operators;
  for (const test::SeedModel& seed : seeds) {
    INFO(seed.name);
    const test::Taken taken = test::take_model(seed.bytes);
    CHECK(taken.imported);
    CHECK(taken.broken == "");
    ++operators[seed.name.substr(0, seed.name.rfind('_'))];
  }
  std::size_t of_onnx = 0, covered = 0;
  std::string missing;
  for (const ops::OpDef& def : ops::all()) {
    if (def.op.starts_with("dovetail.")) continue;
    ++of_onnx;
    if (operators.count(std::string(def.op))) ++covered;
    else missing += " " + std::string(def.op);
  }
  INFO("none for:" << missing);
  CHECK(10 * covered >= 9 * of_onnx);
}

TEST_CASE("a model read as a tree is written back byte for byte") {
  for (const test::SeedModel& seed : test::seed_models()) {
    INFO(seed.name);
    CHECK((test::write_model(test::read_model(seed.bytes)) == seed.bytes));
  }
}

TEST_CASE("the seeds of the fuzzer, and later additions, keep all promises") {
  const auto members = test::read_corpus(kCorpus);
  CHECK(members.size() >= 100);
  for (const test::FuzzSeed& member : members) {
    INFO(member.name);
    take(member.bytes);
  }
}

TEST_CASE("random mutations of valid models keep all promises") {
  const auto seeds = test::seed_models();
  std::size_t imported = 0;
  const unsigned runs = 4000u * test::fuzz_scale();
  for (unsigned seed = 0; seed < runs; ++seed) {
    std::mt19937_64 random(seed);
    const auto any = [&]() -> const Bytes& { return seeds[random() % seeds.size()].bytes; };
    const Bytes bytes = test::mutate_model(any(), any(), random);
    INFO("seed " << seed);
    const test::Taken taken = test::take_model(bytes);
    if (!taken.broken.empty()) FAIL_CHECK(taken.broken);
    imported += taken.imported;
  }
  INFO(imported << " of " << runs << " were imported");
  CHECK(20 * imported > runs);  // mutations that ruin every model would only test the parser
}

TEST_CASE("random mutations of the corpus keep all promises") {
  const auto members = test::read_corpus(kCorpus);
  for (unsigned seed = 0; seed < 3000u * test::fuzz_scale(); ++seed) {
    std::mt19937_64 random(seed);
    const auto any = [&]() -> const Bytes& { return members[random() % members.size()].bytes; };
    INFO("seed " << seed);
    take(test::mutate_model(any(), any(), random));
  }
}

}  // namespace dovetail
