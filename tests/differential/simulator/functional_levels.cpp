// Random race-free programs give one memory image on every kernel level and in every execution order.
#include <cstddef>
#include <span>
#include <vector>

#include "simulator/functional/functional.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::simulator {

namespace {

std::vector<std::byte> run_level(const test::GeneratedProgram& program, const FunctionalOptions& options) {
  const auto simulator = make_functional(program.config, options);
  Dram dram{.base = program.dram_base, .bytes = program.dram};
  for (const isa::Launch& launch : program.launches) {
    const auto counters =
        simulator->launch(std::span(program.program).subspan(launch.begin, launch.count), dram, launch.begin);
    if (!counters.ok()) FAIL("seed " << program.seed << ": " << to_string(counters.errors()));
  }
  return dram.bytes;
}

}  // namespace

TEST_CASE("random programs give one image on every kernel level and in every order") {
  for (std::uint64_t seed = 1; seed <= test::scaled(300); ++seed) {
    const test::GeneratedProgram program = test::generate(test::random_config(seed), {.seed = seed});
    const std::vector<std::byte> expected = run_level(program, {.kernel_level = KernelLevel::baseline});
    CAPTURE(seed);
    for (KernelLevel level : {KernelLevel::avx2, KernelLevel::avx512vnni})
      if (is_supported(level)) CHECK((run_level(program, {.kernel_level = level}) == expected));
    for (ExecutionOrder order : {ExecutionOrder::load_first, ExecutionOrder::store_first})
      CHECK((run_level(program, {.order = order}) == expected));
  }
}

}  // namespace dovetail::simulator
