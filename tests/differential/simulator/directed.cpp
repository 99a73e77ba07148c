#include "tests/differential/simulator/directed.h"

#include "tests/catch.h"
#include "tests/generator/synchronize.h"
#include "tests/torture/models.h"

namespace dovetail::test {

isa::HardwareConfig tiny(std::int64_t bus_bytes) {
  isa::HardwareConfig config = isa::load_config("tiny").value();
  if (bus_bytes == config.bus_bytes) return config;
  config.bus_bytes = bus_bytes;
  config.name += "-bus" + std::to_string(bus_bytes);
  REQUIRE(isa::validate(config).ok());
  return config;
}

std::vector<simulator::LaunchTrace> agree(const isa::HardwareConfig& config,
                                          const std::vector<isa::Instruction>& program, const simulator::Dram& dram,
                                          std::vector<isa::Launch> launches) {
  const auto model = rtl_model(config);
  if (!model) return {};
  const Engines engines{.model = model};
  if (launches.empty()) launches.push_back({0, program.size()});
  const GeneratedProgram all{
      .config = config, .program = program, .launches = launches, .dram_base = dram.base, .dram = dram.bytes};
  std::vector<simulator::LaunchTrace> at_once;
  using namespace simulator;
  for (const char* text :
       {"ideal:latency=1", "ideal", "ideal:latency=9,bytes=3,outstanding=1", "bank:ddr4-2400", "perturbed:seed=5"}) {
    const MemorySpec memory = parse_memory(text).value();
    TortureCase how;
    how.memory = memory;
    std::vector<LaunchTrace> trace;
    if (const auto wrong = torture(all, how, engines, &trace))
      FAIL(*wrong << "\n" << describe(how) << "\n" << describe(all));
    if (at_once.empty()) at_once = trace;
  }
  for (const std::uint64_t seed : {program.size(), program.size() + launches.size()}) {
    TortureCase how;
    how.slave = any_axi_slave(seed);
    if (const auto wrong = torture(all, how, engines)) FAIL(*wrong << "\n" << describe(how) << "\n" << describe(all));
  }
  return at_once;
}

simulator::LaunchTrace agree_in_order(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                                      const simulator::Dram& dram) {
  const auto traces = agree(config, synchronized(config, program, dram.base, dram.bytes), dram);
  return traces.empty() ? simulator::LaunchTrace{} : traces.front();
}

}  // namespace dovetail::test
