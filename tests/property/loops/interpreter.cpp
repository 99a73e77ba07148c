// The bytecode interpreter compared with a direct tree walk, and the text form, on random programs.
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"
#include "tests/generator_loops/same_values.h"
#include "tests/generator_loops/tree_evaluator.h"

using namespace dovetail;
using namespace dovetail::loops;

namespace {

constexpr std::uint64_t kPrograms = 2000;

}  // namespace

TEST_CASE("bytecode agrees with a tree walk on random programs") {
  std::size_t failed_runs = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const auto random = test::random_program(seed);
    const std::string text = to_string(random.program);
    INFO("seed " << seed << "\n" << text);
    const auto actual = evaluate(random.program, random.arguments);
    std::vector<NdArray> expected;
    std::string error;
    try {
      expected = test::TreeEvaluator::evaluate(random.program, random.arguments);
    } catch (const test::TreeError& e) {
      error = e.what();
    }
    if (!error.empty()) {
      ++failed_runs;
      INFO("the tree walk fails: " << error);
      REQUIRE(!actual.ok());
      continue;
    }
    if (!actual.ok()) INFO(to_string(actual.errors()));
    REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
    REQUIRE(actual->size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(test::same_values((*actual)[i], expected[i]));
  }
  CHECK(failed_runs < kPrograms / 4);  // most programs must succeed for a meaningful comparison
}

TEST_CASE("printing and parsing is the identity on random programs, and the parsed program computes the same") {
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const auto random = test::random_program(seed);
    const std::string text = to_string(random.program);
    INFO("seed " << seed << "\n" << text);
    const auto parsed = parse_program(text, "random");
    REQUIRE((parsed.ok() ? "" : to_string(parsed.errors())) == "");
    REQUIRE(to_string(*parsed) == text);
    if (seed % 10 != 0) continue;
    const auto a = evaluate(random.program, random.arguments), b = evaluate(*parsed, random.arguments);
    REQUIRE(a.ok() == b.ok());
    for (std::size_t i = 0; a.ok() && i < a->size(); ++i) REQUIRE(test::same_values((*a)[i], (*b)[i]));
  }
}
