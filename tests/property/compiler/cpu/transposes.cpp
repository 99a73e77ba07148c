// Loads that become transpositions in registers, compiled for vectors of every width, compared with the interpreter.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/processor.h"
#include "base/random.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/jit.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

loops::Program parsed(const std::string& text) {
  auto program = loops::parse_program(text, "transposition");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  return *std::move(program);
}

// y[i, j] = value, for i in copies and j in lanes.
std::string nest(DType dtype, std::int64_t rows, std::int64_t lanes, std::int64_t width, const std::string& value) {
  return fmt::format(R"(program p {{
  input x: {0}[{2}, {3}]
  input z: {0}[{1}]
  output y: {0}[{1}, {2}]
  for i in {1} unrolled {{
    for j in {2} vectorized {{
      block copy {{
        spatial vi in {1} = i
        spatial vj in {2} = j
        reads x[vj, 0 +: {3}], z[vi]
        writes y[vi, vj]
        y[vi, vj] = {4}
      }}
    }}
  }}
}})",
                     name(dtype), rows, lanes, width, value);
}

void check(const std::string& text, SplitMix64& random) {
  const loops::Program program = parsed(text);
  std::vector<NdArray> inputs;
  for (const loops::Parameter& parameter : program.parameters) {
    if (parameter.role == loops::ParameterRole::output) continue;
    NdArray& input = inputs.emplace_back(parameter.buffer->dtype, parameter.buffer->shape);
    for (std::int64_t e = 0; e < input.count(); ++e) input.set_int64(e, static_cast<std::int64_t>(random.next() % 100));
  }
  const auto expected = loops::evaluate(program, inputs);
  REQUIRE((expected.ok() ? "" : to_string(expected.errors())) == "");
  for (const char* name : {"baseline", "avx2", "avx512"}) {
    if (!runs_here(name)) continue;
    const cpu::Cpu cpu = *cpu::find_cpu(name);
    CAPTURE(text, cpu.name);
    const auto compiled = cpu::JitProgram::make(program, {}, cpu);
    REQUIRE(compiled.ok());
    const auto result = compiled->run(inputs);
    REQUIRE(result.ok());
    CHECK(result->front() == expected->front());
  }
}

}  // namespace

TEST_CASE("property: transpositions in registers, of elements of every size, in full and partial pieces") {
  SplitMix64 random(20261126);
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most));
  };
  for (const DType dtype : {DType::int8, DType::boolean, DType::float16, DType::int16, DType::float32, DType::int64})
    for (int i = 0; i < 3; ++i) {
      const std::int64_t rows = up_to(20), lanes = up_to(40), before = up_to(4) - 1, width = before + rows + up_to(3);
      const std::string load = fmt::format("x[vj, vi + {}]", before);
      const bool sums = dtype != DType::boolean && i > 0;
      check(nest(dtype, rows, lanes, width, sums ? fmt::format("{0} + {0} + z[vi]", load) : load), random);
    }
}

TEST_CASE("cpu code: a transposition reads rows as vectors, and is not used where it may not read them") {
  const cpu::Cpu cpu = *cpu::find_cpu("avx512");
  const auto ir = [&](const std::string& value) {
    const auto text = cpu::kernel_ir(parsed(nest(DType::float32, 8, 16, 24, value)), {}, "kernel", cpu);
    REQUIRE(text.ok());
    return text->substr(0, text->find("after LLVM's passes"));
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(ir("x[vj, vi + 1]"), "load <4 x float>"));
  CHECK(!has(ir("x[vj, vi + 1]"), "load float"));
  // One side of a select: the elements of other iterations may be out of bounds.
  CHECK(!has(ir("select(vj < 3, x[vj, vi], z[vi])"), "load <4 x float>"));
  // Neighbors two elements apart.
  CHECK(!has(ir("x[vj, vi * 2]"), "load <4 x float>"));
}
