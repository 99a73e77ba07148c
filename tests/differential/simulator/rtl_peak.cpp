// The design's throughput compared with its peak: one micro-op per cycle.
#include <vector>

#include <fmt/format.h>

#include "isa/verify/token_machine.h"
#include "simulator/rtl/rtl.h"
#include "tests/catch.h"
#include "tests/torture/models.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::test {

namespace {

using namespace simulator::testing;
using isa::Memory;

// Returns the cycles of a launch of `program`, after one that defines micro-ops 0 to 15 and their operands; nullopt:
// skipped. Prints the measured and the ideal number.
std::optional<std::uint64_t> cycles_of(const char* what, const std::vector<isa::Instruction>& program,
                                       std::uint64_t steps) {
  const auto config = isa::load_config("1x16x16").value();
  simulator::RtlOptions options;
  options.model = rtl_model(config);
  if (!options.model) return std::nullopt;
  const auto rtl = simulator::make_rtl(config, options).value();
  std::vector<isa::Uop> uops;
  for (std::uint32_t i = 0; i < 16; ++i) uops.push_back({i, i % 4, i % 3});
  simulator::Dram dram = image(config, uops, 16 * 4096);
  const std::vector<isa::Instruction> before{load(Memory::uop, 0, kDramBase / 4, 16), load(Memory::inp, 0, 1024, 256),
                                             load(Memory::wgt, 0, 64, 64), load(Memory::acc, 0, 256, 256)};
  REQUIRE(rtl->launch(before, dram).ok());
  const auto counters = rtl->launch(program, dram, before.size());
  if (!counters.ok()) FAIL(to_string(counters.errors()));
  CHECK(counters->gemm_uops == steps);
  const std::uint64_t cycles = rtl->timing()->cycles;
  // A work cycle for each step: the pipe never pauses.
  CHECK(rtl->timing()->classes[isa::index(isa::Queue::compute)][static_cast<std::size_t>(simulator::UnitClass::work)] ==
        steps);
  fmt::print("{}: {} micro-ops in {} cycles, achieved/ideal {:.4f}\n", what, steps, cycles,
             static_cast<double>(steps) / static_cast<double>(cycles));
  return cycles;
}

}  // namespace

TEST_CASE("RTL: a long resident GEMM retires one micro-op per cycle") {
  isa::Instruction loop = gemm(0, 16);
  auto& body = std::get<isa::Gemm>(loop.body);
  body.iter_out = 10, body.iter_in = 100, body.dst_factor_out = 16, body.src_factor_in = 2;
  const auto cycles = cycles_of("one GEMM", {loop}, 16000);
  // Fetch of the first instruction, with a latency of 64: 68 cycles; then 3 to the first step, 16,000 steps, 4 to the
  // last write, 1 to the end, 1 to done.
  if (cycles) CHECK(*cycles == 69 + 3 + 16000 - 1 + 4 + 1 + 1);
}

TEST_CASE("RTL: a thousand GEMM instructions of 16 micro-ops reach 0.95 micro-ops per cycle") {
  const auto cycles = cycles_of("1,000 GEMMs of 16", std::vector<isa::Instruction>(1000, gemm(0, 16)), 16000);
  if (cycles) CHECK(16000.0 / static_cast<double>(*cycles) >= 0.95);
}

}  // namespace dovetail::test
