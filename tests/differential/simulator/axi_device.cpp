// Engine axi on the Verilated design, driven through its registers: random programs have the memory that the functional
// simulator leaves, and the cycles of the cycle engine. The device's caches are not coherent, so that each omitted
// maintenance gives other values.
#include <memory>

#include <fmt/format.h>

#include "simulator/axi/axi_engine.h"
#include "simulator/axi/verilated_device.h"
#include "simulator/cycle/cycle.h"
#include "simulator/functional/functional.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"
#include "tests/torture/models.h"

namespace dovetail::test {

TEST_CASE("random programs on a driven Verilated device agree with the simulators") {
  for (const char* name : {"tiny", "1x16x16-ext"}) {
    const isa::HardwareConfig config = isa::load_config(name).value();
    const auto model = rtl_model(config);
    if (!model) return;
    auto device = simulator::make_verilated_device(config, {.model = *model, .bytes = std::uint64_t{8} << 20});
    REQUIRE((device.ok() ? "" : to_string(device.errors())) == "");
    const auto shared = simulator::share_axi_device(*std::move(device), config);
    REQUIRE((shared.ok() ? "" : to_string(shared.errors())) == "");
    for (std::uint64_t seed = 0; seed < scaled(20); ++seed) {
      INFO(name << ", seed " << seed);
      const GeneratedProgram program = settled(generate(config, {.seed = seed}));
      const auto axi = simulator::make_axi(config, *shared);
      const auto cycle = simulator::make_cycle(config, {});
      simulator::Dram expected{program.dram_base, program.dram}, got = expected;
      for (int run = 0; run < 2; ++run) {
        axi->reset();
        cycle->reset();
        for (const isa::Launch& launch : program.launches) {
          const auto part = std::span(program.program).subspan(launch.begin, launch.count);
          const auto right = cycle->launch(part, expected, launch.begin);
          REQUIRE((right.ok() ? "" : to_string(right.errors())) == "");
          const auto counters = axi->launch(part, got, launch.begin);
          REQUIRE((counters.ok() ? "" : to_string(counters.errors())) == "");
          CHECK(got.bytes == expected.bytes);
          CHECK(axi->timing()->cycles == cycle->timing()->cycles);
          CHECK(difference(without_time(*right), *counters) == "");
        }
      }
    }
  }
}

TEST_CASE("the Verilated device reports through its registers and its interrupt") {
  const isa::HardwareConfig config = isa::load_config("tiny").value();
  const auto model = rtl_model(config);
  if (!model) return;
  auto made = simulator::make_verilated_device(config, {.model = *model, .bytes = 1 << 20});
  REQUIRE(made.ok());
  simulator::AxiDevice& device = **made;
  const auto at = [](std::string_view name) {
    return std::ranges::find(isa::spec::kRegisters, name, &isa::spec::Register::name)->offset;
  };
  CHECK(device.read(at("CONFIG")) == isa::spec::config_register(config));
  device.write(at("INTERRUPT_ENABLE"), 3);
  // A program outside the memory: the fetch is answered with DECERR.
  device.write(at("PROGRAM_BASE_LO"), 0x1'0000);
  device.write(at("INSTRUCTION_COUNT"), 5);
  device.write(at("CONTROL"), 1);
  CHECK(device.read(at("STATUS")) == 1);  // busy
  for (int i = 0; i < 100 && (device.read(at("STATUS")) & 1) != 0; ++i)
    REQUIRE(device.wait(std::chrono::milliseconds(1)).ok());
  CHECK(device.read(at("STATUS")) == (4u | static_cast<unsigned>(isa::spec::ErrorCode::decode_error) << 4));
  CHECK(device.read(at("INTERRUPT_STATUS")) == 2);
}

}  // namespace dovetail::test
