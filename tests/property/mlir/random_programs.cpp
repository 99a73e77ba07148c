// Random programs through the tools of MLIR: they verify and round-trip, are read again as the same programs in both of
// MLIR's forms, and compute the values of the interpreter.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "loops/interpreter.h"
#include "loops/print.h"
#include "mlir/read.h"
#include "mlir/write.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"
#include "tests/property/mlir/main_function.h"
#include "tests/property/mlir/tools.h"

using namespace dovetail;
using namespace dovetail::mlir::test;

namespace {

constexpr std::uint64_t kPrograms = 120, kBatch = 40;

// Programs that run to their end, with their values.
std::vector<Case> cases_from(std::uint64_t first_seed, std::uint64_t count) {
  std::vector<Case> cases;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    loops::test::RandomProgram random = loops::test::random_program(seed);
    auto results = loops::evaluate(random.program, random.arguments);
    if (!results.ok()) continue;
    random.program.name = "p" + std::to_string(seed);
    cases.push_back({std::move(random.program), std::move(random.arguments), *std::move(results)});
  }
  return cases;
}

std::string module_of(const std::vector<Case>& cases, const mlir::Options& options, bool with_main) {
  std::vector<loops::Program> programs;
  for (const Case& each : cases) programs.push_back(each.program);
  std::string text = *mlir::to_mlir(programs, {}, options);
  if (with_main) text.insert(text.rfind('}'), MainFunction().text(cases));
  return text;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("random programs run by MLIR have the interpreter's values") {
  const dovetail::test::TemporaryFolder folder;
  for (const Tools& tools : installed_tools())
    for (const mlir::Dialects dialects : {mlir::Dialects::affine, mlir::Dialects::scf})
      for (std::uint64_t first = 0; first < kPrograms; first += kBatch) {
        INFO("release " << tools.version << ", seeds from " << first);
        const std::vector<Case> cases = cases_from(first, kBatch);
        const std::string file = folder / "programs.mlir", lowered = folder / "lowered.mlir";
        write_file(file, module_of(cases, {.dialects = dialects}, true));
        std::vector<std::string> command{tools.opt, file, "--verify-roundtrip", "-o", lowered};
        for (const std::string& pass : lowering()) command.push_back(pass);
        const auto made = dovetail::test::run_process(command);
        if (made.exit != 0) FAIL(made.error);
        remove_attributes(lowered);
        const auto ran =
            dovetail::test::run_process({tools.runner, lowered, "-e", "main", "-entry-point-result=i32", "-O0"});
        if (ran.exit != 0) FAIL(ran.error << ran.out);
        const int wrong = std::stoi(ran.out);
        if (wrong != 0) FAIL("wrong values: " << loops::to_string(cases[static_cast<std::size_t>(wrong) - 1].program));
      }
}

TEST_CASE("random programs that mlir-opt has printed are read as the same programs") {
  const dovetail::test::TemporaryFolder folder;
  for (const Tools& tools : installed_tools())
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      INFO("release " << tools.version << ", seed " << seed);
      const loops::Program program = loops::test::random_program(seed).program;
      const std::string file = folder / "program.mlir";
      write_file(file, *mlir::to_mlir(program, {}, {}));
      std::vector<std::string> command{tools.opt, file, "--verify-roundtrip"};
      if (seed % 2 == 1) command.emplace_back("--mlir-print-op-generic");
      const auto printed = dovetail::test::run_process(command);
      if (printed.exit != 0) FAIL(printed.error);
      const auto back = mlir::read_mlir(printed.out, "printed.mlir", {});
      if (!back.ok()) FAIL(to_string(back.errors()) << printed.out);
      CHECK(loops::to_string(*back) == loops::to_string(program));
    }
}
