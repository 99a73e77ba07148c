// The random programs are legal, encodable, reproducible, and reach every bin.
#include "tests/generator/generator.h"
#include "isa/codec.h"
#include "isa/verify.h"
#include "tests/catch.h"

namespace dovetail::test {

TEST_CASE("random configurations are valid, of both encodings") {
  std::size_t wide = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) wide += random_config(seed).encoding() == isa::Encoding::wide;
  CHECK(wide > 20);
  CHECK(wide < 180);
}

TEST_CASE("random programs have no finding of verify, and reach every bin") {
  Coverage coverage;
  const auto check = [&](const isa::HardwareConfig& config, const GeneratorOptions& options) {
    const GeneratedProgram program = generate(config, options);
    const isa::VerifyReport report = isa::verify(program.config, program.program, program.verify_options());
    if (!report.clean()) {
      const GeneratedProgram small = shrink(program, [](const GeneratedProgram& p) {
        const auto r = isa::verify(p.config, p.program, p.verify_options());
        return !r.clean() && r.findings.front().kind != isa::FindingKind::undefined_read;
      });
      FAIL(to_string(report.findings.front().diagnostic) << "\nseed " << options.seed << "\n" << describe(small));
    }
    coverage.add(program);
  };
  for (std::uint64_t seed = 0; seed < scaled(200); ++seed) check(random_config(seed), {.seed = seed});
  for (std::uint64_t seed = 0; seed < scaled(5); ++seed) check(isa::HardwareConfig{}, {.seed = seed, .size = 400});

  INFO(coverage.report());
  CHECK(coverage.missing() == std::vector<std::string>{});
  for (const auto opcode :
       {isa::Opcode::load, isa::Opcode::store, isa::Opcode::gemm, isa::Opcode::finish, isa::Opcode::alu})
    CHECK(coverage.opcode_percent(opcode) >= 5.0);
  CHECK(coverage.median_operations() >= 16);
}

TEST_CASE("random programs survive encoding and decoding") {
  for (std::uint64_t seed = 0; seed < scaled(60); ++seed) {
    const GeneratedProgram program = generate(random_config(seed), {.seed = seed, .size = 40});
    INFO(describe(program));
    const isa::Codec codec(program.config);
    const auto bytes = codec.encode_program(program.program);
    REQUIRE(bytes.ok());
    const auto decoded = codec.decode_program(*bytes, "memory");
    REQUIRE(decoded.ok());
    CHECK(*decoded == program.program);
  }
}

TEST_CASE("the same seed makes the same program") {
  const GeneratedProgram a = generate(random_config(7), {.seed = 7});
  const GeneratedProgram b = generate(random_config(7), {.seed = 7});
  CHECK(a.program == b.program);
  CHECK(a.dram == b.dram);
  CHECK(a.program != generate(random_config(7), {.seed = 8}).program);
}

TEST_CASE("shrinking keeps the failure and little else") {
  const auto has_relu = [](const GeneratedProgram& p) {
    for (const isa::Instruction& instruction : p.program)
      if (const auto* alu = std::get_if<isa::Alu>(&instruction.body); alu != nullptr && alu->op == isa::AluOp::max)
        return true;
    return false;
  };
  GeneratedProgram program;
  for (std::uint64_t seed = 3; !has_relu(program); ++seed) program = generate(random_config(3), {.seed = seed});
  const GeneratedProgram small = shrink(program, has_relu);
  CHECK(has_relu(small));
  CHECK(small.program.size() == 1);
  CHECK(small.launches.size() == 1);
}

}  // namespace dovetail::test
