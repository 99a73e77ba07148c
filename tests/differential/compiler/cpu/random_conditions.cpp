// Programs whose loops are bounded by random conditions as machine code and on the interpreter, bit for bit, for every
// class of processor that this machine belongs to.
#include "tests/generator_loops/random_conditions.h"
#include "base/processor.h"
#include "compiler/target/cpu/jit.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "tests/catch.h"
#include "tests/generator_loops/same_values.h"

using namespace dovetail;

TEST_CASE("loops that are bounded by conditions are the same as machine code and on the interpreter") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const loops::test::ConditionProgram random = loops::test::ConditionGenerator(seed).generate();
    INFO("seed " << seed << "\n" << random.text);
    const auto program = loops::parse_program(random.text, "random");
    REQUIRE(program.ok());
    const auto expected = loops::evaluate(*program, random.arguments);
    REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
    for (const cpu::Cpu& processor : cpu::cpus()) {
      if (!runs_here(processor.name)) continue;
      INFO("processor " << processor.name);
      auto code = cpu::JitProgram::make(*program, {}, processor, 2);
      REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
      const auto result = code->run(random.arguments);
      REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
      for (std::size_t i = 0; i < expected->size(); ++i)
        REQUIRE(loops::test::same_values((*result)[i], (*expected)[i]));
    }
  }
}
