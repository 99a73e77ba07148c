// The RTL engine under torture, with the budget of every build: ./dev torture N runs more.
#include <string>

#include <fmt/ranges.h>

#include "tests/catch.h"
#include "tests/torture/coverage.h"
#include "tests/torture/models.h"
#include "tests/torture/torture.h"

namespace dovetail::test {

namespace {

TortureCoverage run_torture(const isa::HardwareConfig& config, std::size_t instructions, std::uint64_t first_seed) {
  TortureCoverage coverage;
  for (std::uint64_t seed = first_seed; coverage.instructions() < instructions; ++seed) {
    const TortureCase how = torture_case(config, seed);
    const GeneratedProgram program = generate(config, how.program);
    std::vector<simulator::LaunchTrace> trace;
    if (torture(program, how, {}, &trace)) FAIL(explain(minimized(program, how), how));
    coverage.add(program, trace);
  }
  return coverage;
}

}  // namespace

TEST_CASE("random programs on RTL agree with the functional simulator, and reach every bin") {
  const auto tiny = isa::load_config("tiny").value();
  if (!rtl_model(tiny)) return;
  const TortureCoverage coverage = run_torture(tiny, scaled(40000), 1);
  CHECK(fmt::format("{}", fmt::join(coverage.missing(), ", ")) == "");
}

TEST_CASE("random programs on RTL of the default size agree with the functional simulator") {
  for (const char* name : {"1x16x16", "1x16x16-ext"}) {
    const auto config = isa::load_config(name).value();
    if (rtl_model(config)) run_torture(config, scaled(2000), 1);
  }
}

TEST_CASE("RTL: results do not depend on the latency of memory") {
  const auto config = isa::load_config("tiny").value();
  if (!rtl_model(config)) return;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const GeneratedProgram program = generate(config, {.seed = seed, .size = 120});
    for (std::uint64_t latency = 0; latency < 20; ++latency) {
      TortureCase how;
      how.seed = seed;
      simulator::PerturbedMemory memory;
      memory.seed = latency;
      how.memory = memory;
      const auto wrong = torture(program, how);
      CHECK(wrong.value_or("") == "");
    }
  }
}

}  // namespace dovetail::test
