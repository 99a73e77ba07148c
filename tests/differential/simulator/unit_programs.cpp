// The programs of tests/unit/simulator, which the functional simulator runs there and a reference of their own judges, on the engines with a clock:
// every opcode, memory, pad, stride, shift, wrap-around, in VTA's six shapes and others. They are compiled here once more, sources and all.
#include "tests/unit/simulator/compute.cpp"
#include "tests/unit/simulator/programs.cpp"
#include "tests/unit/simulator/reference.cpp"
#include "tests/unit/simulator/transfers.cpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "simulator/cycle/cycle.h"
#include "simulator/rtl/rtl.h"
#include "tests/generator/synchronise.h"
#include "tests/torture/models.h"

namespace dovetail::simulator::testing {

namespace {

void run_on(Simulator& simulator, const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program, Dram dram, const Dram& expected) {
  CAPTURE(config.name, simulator.name());
  const auto counters = simulator.launch(program, dram);
  if (!counters.ok()) FAIL(to_string(counters.errors()));
  CHECK(dram.bytes == expected.bytes);
}

const bool with_clocks = [] {
  further_engines() = [](const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program, const Dram& dram, const Dram& expected) {
    const bool has_tokens = std::ranges::any_of(program, [](const isa::Instruction& instruction) { return instruction.flags != isa::DependencyFlags{}; });
    const auto runnable = has_tokens ? program : test::synchronised(config, program, dram.base, dram.bytes);
    run_on(*make_cycle(config), config, runnable, dram, expected);
    // One simulator for all programs of a configuration: what a launch leaves behind must not matter to the next.
    static std::map<std::string, std::unique_ptr<RtlSimulator>> simulators;
    const auto [at, is_new] = simulators.try_emplace(isa::config_to_json(config).dump());
    if (is_new) {
      RtlOptions options;
      options.model = test::rtl_model(config);
      if (options.model) at->second = make_rtl(config, options).value();
    }
    if (at->second) run_on(*at->second, config, runnable, dram, expected);
  };
  return true;
}();

}  // namespace

}  // namespace dovetail::simulator::testing
