// Loops that are trimmed by random conditions have the values of the program as it is written.
#include "loops/core/trim_loops.h"

#include <string>

#include "loops/core/dissolve_blocks.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_conditions.h"
#include "tests/generator_loops/same_values.h"
#include "tests/generator_loops/tree_evaluator.h"

using namespace dovetail;
using namespace dovetail::loops;

TEST_CASE("random conditions leave out only iterations that do nothing") {
  constexpr std::uint64_t kPrograms = 1000;
  std::size_t trimmed = 0;
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    const test::ConditionProgram random = test::ConditionGenerator(seed).generate();
    INFO("seed " << seed << "\n" << random.text);
    const auto program = parse_program(random.text, "random");
    REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
    const std::string core = to_string(trim_loops(dissolve_blocks(*program, {})));
    INFO(core);
    trimmed += core.find("@to(") != core.npos && core.find("@from(") != core.npos && core.find("@while(") != core.npos;
    const auto expected = test::TreeEvaluator::evaluate(*program, random.arguments);
    const auto actual = evaluate(*program, random.arguments);
    REQUIRE((actual.ok() ? "" : to_string(actual.errors())) == "");
    for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(test::same_values((*actual)[i], expected[i]));
  }
  CHECK(trimmed > kPrograms / 3);
}
