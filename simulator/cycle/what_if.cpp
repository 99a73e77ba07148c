#include "simulator/cycle/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/spec/config.h"
#include "simulator/cycle/cycle.h"

namespace dovetail::simulator {

namespace {

constexpr std::int64_t kManyBursts = 65536;

struct Scenario {
  std::string change;
  isa::HardwareConfig config;
  MemorySpec memory;
  bool wait_for_tokens = true;
};

// A memory without latency that accepts any number of bursts.
MemorySpec at_once() { return IdealMemory{.latency = 1, .outstanding = kManyBursts}; }

// Cycles from the acceptance of a read to its first beat without contention.
std::int64_t idle_latency(const MemorySpec& memory, std::int64_t bus_bytes) {
  const auto model = make_memory(memory, bus_bytes);
  Cycle cycle = 0;
  for (Answer answer = model->accept(cycle, Direction::read, 0, 1); !answer.accepted;)
    answer = model->accept(cycle = answer.cycle, Direction::read, 0, 1);
  return static_cast<std::int64_t>(model->explain(Direction::read)[MemoryCause::latency]);
}

std::vector<Scenario> scenarios(const isa::HardwareConfig& config, const MemorySpec& memory) {
  std::vector<Scenario> all;
  all.push_back(
      {fmt::format("memory without latency, {} bytes per cycle each way", config.bus_bytes), config, at_once()});
  const auto doubled = [&](const isa::spec::Parameter& row) {
    isa::HardwareConfig wider = config;
    wider.*row.member = std::min(2 * wider.*row.member, row.maximum);
    return wider;
  };
  const isa::spec::Parameter& bus =
      *std::ranges::find(isa::spec::kParameters, &isa::HardwareConfig::bus_bytes, &isa::spec::Parameter::member);
  const isa::HardwareConfig wide = doubled(bus);
  if (wide != config) {
    MemorySpec faster = memory;
    std::string change = fmt::format("a port of {} bytes", wide.bus_bytes);
    if (auto* ideal = std::get_if<IdealMemory>(&faster); ideal != nullptr && !ideal->bytes_per_cycle.is_bus()) {
      ideal->bytes_per_cycle = ByteRate(2 * ideal->bytes_per_cycle.bytes, ideal->bytes_per_cycle.cycles);
      change += fmt::format(", and a memory of {} per cycle", to_string(ideal->bytes_per_cycle));
    }
    all.push_back({change, wide, faster});
  }
  isa::HardwareConfig widest = config;
  widest.bus_bytes = bus.maximum;
  all.push_back(
      {fmt::format("memory without latency, {} bytes per cycle each way", widest.bus_bytes), widest, at_once()});
  const std::int64_t latency = idle_latency(memory, config.bus_bytes);
  all.push_back({fmt::format("memory of latency {}, {} bytes per cycle each way", latency, widest.bus_bytes), widest,
                 IdealMemory{.latency = latency, .outstanding = kManyBursts}});
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    if (!row.resource.empty())
      all.push_back({fmt::format(fmt::runtime(row.resource), 2 * config.*row.member), doubled(row), memory});
  all.push_back({"no instruction waiting for a token (values would be wrong)", config, memory, false});
  std::erase_if(all, [&](const Scenario& scenario) {
    return scenario.config == config && scenario.memory == memory && scenario.wait_for_tokens;
  });
  return all;
}

}  // namespace

Result<std::vector<WhatIf>> what_if(const isa::HardwareConfig& config, const EngineOptions& options,
                                    std::span<const isa::Instruction> program, std::span<const isa::Launch> launches,
                                    Dram& dram) {
  std::vector<WhatIf> answers;
  std::vector<isa::Instruction> free_running(program.begin(), program.end());
  for (isa::Instruction& instruction : free_running) instruction.flags = {};
  for (const Scenario& scenario : scenarios(config, options.memory)) {
    const std::span<const isa::Instruction> what = scenario.wait_for_tokens ? program : free_running;
    EngineOptions with = options;
    with.memory = scenario.memory;
    with.trace = false;
    const auto simulator = make_cycle_timing(scenario.config, with);
    WhatIf answer{.change = scenario.change};
    for (const isa::Launch& launch : launches) {
      DOVETAIL_TRY(simulator->launch(what.subspan(launch.begin, launch.count), dram, launch.begin));
      answer.cycles += simulator->timing()->cycles;
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

Json to_json(const std::vector<WhatIf>& answers) {
  Json list = Json::array();
  for (const WhatIf& answer : answers) list.push_back({{"change", answer.change}, {"cycles", answer.cycles}});
  return list;
}

}  // namespace dovetail::simulator
