// Random loop programs as C and on the interpreter, bit for bit: many programs in one translation unit.
// DOVETAIL_TEST_SCALE multiplies their number, DOVETAIL_TEST_SEED chooses the first seed.
#include <map>

#include <fmt/format.h>

#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/exported_program.h"
#include "tests/generator_loops/random_conditions.h"
#include "tests/generator_loops/random_program.h"
#include "tests/skip.h"

using namespace dovetail;

namespace {

constexpr int kBatch = 60;
const std::vector<std::string> kFlags{"-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"};

// Several programs as one bundle, and its inputs.
struct Batch {
  bundle::Bundle bundle;
  std::map<std::string, NdArray> inputs;

  void add(const loops::Program& program, const std::vector<NdArray>& arguments, const std::string& prefix) {
    std::size_t argument = 0;
    for (const loops::Parameter& parameter : program.parameters)
      if (parameter.role != loops::ParameterRole::output)
        inputs.insert_or_assign(prefix + parameter.buffer->name, arguments[argument++]);
    test::add_program(bundle, test::bundle_of(program, "p"), prefix);
  }
};

}  // namespace

TEST_CASE("random loop programs compute the same as C and on the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const std::uint64_t first = test::number_of("DOVETAIL_TEST_SEED", 0),
                      count = 300 * test::number_of("DOVETAIL_TEST_SCALE", 1);
  int compared = 0;
  std::uint64_t seed = first;
  while (seed < first + count) {
    Batch batch;
    batch.bundle.name = fmt::format("programs from seed {}", seed);
    for (int i = 0; i < kBatch && seed < first + count; ++seed) {
      loops::test::RandomProgram random = loops::test::ProgramGenerator(seed).generate();
      // Only the interpreter detects reads of unwritten elements, and only its indices may be unproven.
      if (!loops::verify(random.program).ok() || !loops::evaluate(random.program, random.arguments).ok()) continue;
      batch.add(random.program, random.arguments, fmt::format("s{}_", seed));
      ++i, ++compared;
    }
    INFO(batch.bundle.name);
    CHECK(test::run_exported(batch.bundle, compiler, kFlags, batch.inputs) == "");
  }
  CHECK(compared >= static_cast<int>(count / 4));
}

TEST_CASE("loops that are bounded by conditions are the same as C and on the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  Batch batch;
  batch.bundle.name = "conditions";
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const loops::test::ConditionProgram random = loops::test::ConditionGenerator(seed).generate();
    const auto program = loops::parse_program(random.text, "random");
    REQUIRE(program.ok());
    batch.add(*program, random.arguments, fmt::format("s{}_", seed));
  }
  CHECK(test::run_exported(batch.bundle, compiler, kFlags, batch.inputs) == "");
}
