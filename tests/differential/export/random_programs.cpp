// Random loop programs as C and on the interpreter, bit for bit: many programs in one translation unit.
// DOVETAIL_TEST_SCALE multiplies their number, DOVETAIL_TEST_SEED chooses the first seed.
#include <map>

#include <fmt/format.h>

#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "tests/catch.h"
#include "tests/exported_program.h"
#include "tests/generator_loops/random_program.h"
#include "tests/skip.h"

using namespace dovetail;

namespace {

constexpr int kBatch = 60;

}  // namespace

TEST_CASE("random loop programs compute the same as C and on the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const std::uint64_t first = test::number_of("DOVETAIL_TEST_SEED", 0),
                      count = 300 * test::number_of("DOVETAIL_TEST_SCALE", 1);
  int compared = 0;
  std::uint64_t seed = first;
  while (seed < first + count) {
    bundle::Bundle all;
    all.name = fmt::format("programs from seed {}", seed);
    std::map<std::string, NdArray> inputs;
    for (int i = 0; i < kBatch && seed < first + count; ++seed) {
      loops::test::RandomProgram random = loops::test::ProgramGenerator(seed).generate();
      // Only the interpreter detects reads of unwritten elements, and only its indices may be unproven.
      if (!loops::verify(random.program).ok() || !loops::evaluate(random.program, random.arguments).ok()) continue;
      const std::string prefix = fmt::format("s{}_", seed);
      std::size_t argument = 0;
      for (const loops::Parameter& parameter : random.program.parameters)
        if (parameter.role != loops::ParameterRole::output)
          inputs.insert_or_assign(prefix + parameter.buffer->name, random.arguments[argument++]);
      test::add_program(all, test::bundle_of(random.program, "p"), prefix);
      ++i, ++compared;
    }
    INFO(all.name);
    CHECK(test::run_exported(all, compiler, {"-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"}, inputs) ==
          "");
  }
  CHECK(compared >= static_cast<int>(count / 4));
}
