// The programs of tests/unit/simulator, which the functional simulator runs there and compares with a reference, here
// on the engines with a clock: every opcode, memory, pad, stride, shift, wrap-around, in VTA's six shapes and others.
// Bytes and counters are the same on all engines. The sources are compiled again in this executable.
#include "tests/unit/simulator/compute.cpp"
#include "tests/unit/simulator/launches.cpp"
#include "tests/unit/simulator/programs.cpp"
#include "tests/unit/simulator/reference.cpp"
#include "tests/unit/simulator/transfers.cpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "simulator/cycle/cycle.h"
#include "simulator/rtl/rtl.h"
#include "tests/generator/synchronize.h"
#include "tests/tier.h"
#include "tests/torture/models.h"

namespace dovetail::simulator::testing {

namespace {

Counters run_on(Simulator& simulator, const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                Dram dram, const Dram& expected) {
  CAPTURE(config.name, simulator.name());
  const auto counters = simulator.launch(program, dram);
  if (!counters.ok()) FAIL(to_string(counters.errors()));
  CHECK(dram.bytes == expected.bytes);
  return *counters;
}

// The models of named configurations exist already (fixtures). Building another one takes 15 seconds: the sample of
// ./dev test skips it.
bool has_model(const isa::HardwareConfig& config) {
  if (const auto named = isa::load_config(config.name); named.ok() && *named == config) return true;
  return test::judges_everything();
}

// One simulator for all programs of a configuration: state that a launch leaves must not matter to the next one. Null
// where there is no model.
RtlSimulator* design_of(const isa::HardwareConfig& config) {
  static std::map<std::string, std::unique_ptr<RtlSimulator>> simulators;
  const auto [at, is_new] = simulators.try_emplace(isa::config_to_json(config).dump());
  if (is_new && has_model(config)) {
    RtlOptions options;
    options.model = test::rtl_model(config);
    if (options.model) at->second = make_rtl(config, options).value();
  }
  return at->second.get();
}

const bool with_clocks = [] {
  further_engines() = [](const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                         const Dram& dram, const Dram& expected) {
    const bool has_tokens = std::ranges::any_of(
        program, [](const isa::Instruction& instruction) { return instruction.flags != isa::DependencyFlags{}; });
    const auto runnable = has_tokens ? program : test::synchronized(config, program, dram.base, dram.bytes);
    const Counters values = run_on(*make_functional(config), config, runnable, dram, expected),
                   timed = run_on(*make_cycle(config), config, runnable, dram, expected);
    CAPTURE(config.name, difference(values, timed));
    CHECK(values == without_time(timed));
    RtlSimulator* const rtl = design_of(config);
    if (rtl == nullptr) return;
    const Counters of_design = run_on(*rtl, config, runnable, dram, expected);
    CAPTURE(difference(of_design, timed));
    CHECK(of_design == timed);
  };
  return true;
}();

}  // namespace

TEST_CASE("SRAM and memory are kept from launch to launch on every engine") {
  for (const isa::HardwareConfig& config : all_configs()) {
    CAPTURE(config.name);
    const Dram dram = image(config, {{0, 0, 0}}, 8192);
    // Accumulated twice in place: the third launch stores the result of the second, which began with the data of the
    // first.
    const std::vector<std::vector<isa::Instruction>> launches{
        {load(isa::Memory::acc, 0, element_at(config, isa::Memory::acc, 1024), 1, kPopPrev),
         load(isa::Memory::inp, 0, element_at(config, isa::Memory::inp, 1024), 1),
         load(isa::Memory::wgt, 0, element_at(config, isa::Memory::wgt, 2048), 1, kPushNext),
         load(isa::Memory::uop, 0, element_at(config, isa::Memory::uop, 0), 1), finish()},
        {gemm(0, 1), gemm(0, 1), finish()},
        {store(0, element_at(config, isa::Memory::out, 4096), 1), finish()},
    };
    const auto run = [&](Simulator& simulator) {
      Dram memory = dram;
      for (const std::vector<isa::Instruction>& program : launches) {
        const auto counters = simulator.launch(program, memory);
        if (!counters.ok()) FAIL(simulator.name() << ": " << to_string(counters.errors()));
      }
      return memory.bytes;
    };
    const auto expected = run(*make_functional(config));
    CHECK(expected != dram.bytes);
    CHECK(run(*make_cycle(config)) == expected);
    if (RtlSimulator* rtl = design_of(config)) CHECK(run(*rtl) == expected);
  }
}

}  // namespace dovetail::simulator::testing
