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

TEST_CASE("a part of a buffer that data places outside of it is an error as machine code, too") {
  const auto program = loops::parse_program(R"(program p {
    input begin: int64[2] input x: int32[8] output y: int32[]
    y[] = sum[e in 8 where begin[0] + e < begin[1]] x[begin[0] + e]
  })",
                                            "p");
  REQUIRE(program.ok());
  const auto processor = cpu::find_cpu("native");
  REQUIRE(processor.ok());
  auto code = cpu::JitProgram::make(*program, {}, *processor);
  REQUIRE((code.ok() ? "" : to_string(code.errors())) == "");
  const NdArray x = NdArray::from<std::int32_t>({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto runs = [&](std::int64_t from, std::int64_t to) {
    const std::vector<NdArray> arguments{NdArray::from<std::int64_t>({2}, {from, to}), x};
    const auto expected = loops::evaluate(*program, arguments), got = code->run(arguments);
    CHECK(expected.ok() == got.ok());
    if (!expected.ok()) CHECK_THAT(to_string(got.errors()), Catch::Matchers::ContainsSubstring("an index of x"));
    if (expected.ok() && got.ok()) CHECK((*got)[0].as_int64(0) == (*expected)[0].as_int64(0));
    return expected.ok();
  };
  CHECK(runs(2, 5));
  CHECK(runs(0, 8));
  CHECK(runs(5, 2));
  CHECK(runs(INT64_MAX, INT64_MIN));
  CHECK_FALSE(runs(-1, 3));
  CHECK_FALSE(runs(6, 9));
  CHECK_FALSE(runs(INT64_MIN, 0));
}
