// Integers raised to a power, as machine code and on the interpreter: any base, small exponents and any, negative ones;
// zero to a negative power fails on both.
#include <fmt/format.h>

#include "base/processor.h"
#include "base/random.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

constexpr std::int64_t kPowers = 1000;

loops::Program powers_of(DType dtype, bool lanes) {
  auto program =
      loops::parse_program(fmt::format(R"(program powers {{
    input a: {1}[{0}]
    input b: {1}[{0}]
    output z: {1}[{0}]
    for o in {2} {{
      for l in 16{3} {{
        block powers {{
          spatial v in {0} = o * 16 + l
          where o * 16 + l < {0}
          reads a[v], b[v]
          writes z[v]
          z[v] = pow(a[v], b[v])
        }}
      }}
    }}
  }})",
                                       kPowers, name(dtype), (kPowers + 15) / 16, lanes ? " vectorized" : ""),
                           "powers");
  if (!program.ok()) FAIL(to_string(program.errors()));
  return *std::move(program);
}

}  // namespace

TEST_CASE("integer powers as machine code have the interpreter's bits") {
  SplitMix64 random(5);
  for (const DType dtype : {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32, DType::uint32,
                            DType::int64, DType::uint64})
    for (const bool lanes : {true, false}) {
      INFO(name(dtype) << (lanes ? ", in lanes" : ""));
      std::vector<NdArray> arguments{NdArray(dtype, {kPowers}), NdArray(dtype, {kPowers})};
      for (std::int64_t i = 0; i < kPowers; ++i) {
        const auto any = static_cast<std::int64_t>(random.next());
        const std::int64_t small = static_cast<std::int64_t>(random.next() % 9) - 4;
        arguments[0].set_int64(i, i % 2 == 0 ? any : small);
        arguments[1].set_int64(i, i % 3 == 0 ? any >> 32 : static_cast<std::int64_t>(random.next() % 80) - 8);
        if (arguments[0].as_int64(i) == 0 && arguments[1].as_int64(i) < 0) arguments[0].set_int64(i, 1);
      }
      std::vector<NdArray> broken = arguments;
      broken[0].set_int64(kPowers - 3, 0);
      broken[1].set_int64(kPowers - 3, -1);
      const loops::Program program = powers_of(dtype, lanes);
      const auto expected = loops::evaluate(program, arguments);
      REQUIRE(expected.ok());
      CHECK(loops::evaluate(program, broken).ok() == !is_signed_integer(dtype));
      for (const cpu::Cpu& processor : cpu::cpus()) {
        if (!runs_here(processor.name)) continue;
        INFO(processor.name);
        const auto code = cpu::JitProgram::make(program, {}, processor);
        REQUIRE(code.ok());
        const auto found = code->run(arguments);
        REQUIRE(found.ok());
        for (std::int64_t i = 0; i < kPowers; ++i)
          if ((*found)[0].as_int64(i) != (*expected)[0].as_int64(i))
            FAIL(fmt::format("{} to the power of {}: {}, expected {}", arguments[0].as_int64(i),
                             arguments[1].as_int64(i), (*found)[0].as_int64(i), (*expected)[0].as_int64(i)));
        CHECK(code->run(broken).ok() == !is_signed_integer(dtype));
      }
    }
}
