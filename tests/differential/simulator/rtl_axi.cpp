// The design at its memory port: all late responses are awaited, and no AXI4 slave makes it hang or changes what it
// writes.
#include <string>
#include <vector>

#include "isa/text.h"
#include "tests/catch.h"
#include "tests/differential/simulator/directed.h"
#include "tests/torture/models.h"
#include "tests/unit/simulator/programs.h"

namespace dovetail::test {

namespace {

using namespace simulator::testing;
using isa::Memory;
using simulator::AxiSlave;
using simulator::Dram;
using simulator::LaunchTrace;

constexpr std::size_t kImageBytes = 3 * 4096;

// Every element of ACC in its own row: as many bursts as a STORE can have, or more beats than the buffer holds.
std::vector<isa::Instruction> rows_of_one(const isa::HardwareConfig& config) {
  const auto depth = static_cast<std::uint32_t>(config.depth(Memory::acc));
  isa::Instruction rows = store(0, element_at(config, Memory::out, 4096), 1);
  auto& body = std::get<isa::Store>(rows.body);
  body.y_size = depth, body.x_stride = 3;
  return {load(Memory::acc, 0, element_at(config, Memory::acc, 0), depth), rows};
}

isa::HardwareConfig tiny_with(std::int64_t burst_beats, std::int64_t outstanding_beats) {
  isa::HardwareConfig config = isa::load_config("tiny").value();
  config.burst_beats = burst_beats, config.outstanding_beats = outstanding_beats;
  config.name += "-" + std::to_string(burst_beats) + "-" + std::to_string(outstanding_beats);
  REQUIRE(isa::validate(config).ok());
  return config;
}

}  // namespace

TEST_CASE("RTL: a STORE of more bursts than the write buffer has places waits for every response") {
  const auto config = isa::load_config("1x16x16").value();
  const auto model = rtl_model(config);
  if (!model) return;
  const auto program = isa::parse_assembly(
      "load.acc8 sram=0 dram=0 size=1x2048 push_next\n"
      "store.out sram=0 dram=2048 size=2048x1 stride=2 pop_prev push_prev\n"
      "finish pop_next\n",
      "responses", config);
  REQUIRE(program.ok());
  const std::vector<std::byte> dram = image(config, {}, 24 * 4096).bytes;
  const GeneratedProgram all{.config = config, .program = program->program, .launches = {{0, 3}}, .dram = dram};
  TortureCase how;
  how.memory = simulator::parse_memory("ideal:latency=20000,outstanding=65536").value();
  std::vector<LaunchTrace> trace;
  CHECK(torture(all, how, {.model = model}, &trace).value_or("") == "");
  REQUIRE(trace.size() == 1);
  CHECK(trace[0].cycles == 687343);
}

TEST_CASE("RTL: write buffers with few entries, and many outstanding responses") {
  for (const auto& [burst, outstanding] : {std::pair{1, 1}, {1, 2}, {2, 2}, {2, 3}}) {
    const auto config = tiny_with(burst, outstanding);
    CAPTURE(config.name);
    agree_in_order(config, rows_of_one(config), image(config, {}, kImageBytes));
  }
}

TEST_CASE("RTL: with every AXI4 slave, fast, slow and random, all bytes are written correctly") {
  for (const std::int64_t bus : {4, 8, 64}) {
    const auto config = tiny(bus);
    const auto model = rtl_model(config);
    if (!model) return;
    for (const simulator::WriteOrder order : simulator::kWriteOrders)
      for (const int ready : {100, 50, 5})
        for (const int valid : {100, 20}) {
          const AxiSlave slave{.seed = static_cast<std::uint64_t>(ready + valid),
                               .write_order = order,
                               .ready_percent = ready,
                               .valid_percent = valid,
                               .most_read_latency = valid,
                               .most_response_latency = ready == 50 ? 2000 : 0};
          CAPTURE(bus, to_string(slave));
          for (std::uint64_t seed = 0; seed < 4; ++seed) {
            const GeneratedProgram program = generate(config, {.seed = seed, .size = 60});
            TortureCase how;
            how.slave = slave;
            const auto wrong = torture(program, how, {.model = model});
            REQUIRE(wrong.value_or("") == "");
          }
        }
  }
}

}  // namespace dovetail::test
