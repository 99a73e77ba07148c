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
};

// The memory with latencies gone, or with room for any number of bursts.
MemorySpec at_once() { return IdealMemory{.latency = 1, .outstanding = kManyBursts}; }

std::int64_t most(std::int64_t isa::HardwareConfig::*member) {
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    if (row.member == member) return row.maximum;
  return 0;
}

std::vector<Scenario> scenarios(const isa::HardwareConfig& config, const MemorySpec& memory) {
  std::vector<Scenario> all;
  all.push_back({fmt::format("memory that answers at once, {} bytes a cycle each way", config.bus_bytes), config, at_once()});
  const auto doubled = [&](isa::HardwareConfig wider, std::int64_t isa::HardwareConfig::*member) {
    wider.*member = std::min(2 * wider.*member, most(member));
    return wider;
  };
  const isa::HardwareConfig wide = doubled(config, &isa::HardwareConfig::bus_bytes);
  if (wide != config) {
    MemorySpec faster = memory;
    if (auto* ideal = std::get_if<IdealMemory>(&faster)) ideal->bytes_per_cycle *= 2;
    all.push_back({fmt::format("a port of {} bytes, and an ideal memory twice as wide", wide.bus_bytes), wide, faster});
  }
  isa::HardwareConfig widest = config;
  widest.bus_bytes = most(&isa::HardwareConfig::bus_bytes);
  all.push_back({fmt::format("memory that answers at once, {} bytes a cycle each way", widest.bus_bytes), widest, at_once()});
  all.push_back({fmt::format("command queues of {}", 2 * config.command_queue_depth), doubled(config, &isa::HardwareConfig::command_queue_depth), memory});
  all.push_back({fmt::format("token queues of {}", 2 * config.token_queue_depth), doubled(config, &isa::HardwareConfig::token_queue_depth), memory});
  all.push_back({fmt::format("beat buffers of {}", 2 * config.outstanding_beats), doubled(config, &isa::HardwareConfig::outstanding_beats), memory});
  std::erase_if(all, [&](const Scenario& scenario) { return scenario.config == config && scenario.memory == memory; });
  return all;
}

}  // namespace

Result<std::vector<WhatIf>> what_if(const isa::HardwareConfig& config, const EngineOptions& options, std::span<const isa::Instruction> program,
                                    std::span<const isa::Launch> launches, Dram& dram) {
  std::vector<WhatIf> answers;
  for (const Scenario& scenario : scenarios(config, options.memory)) {
    EngineOptions with = options;
    with.memory = scenario.memory;
    with.trace = false;
    const auto simulator = make_cycle_timing(scenario.config, with);
    WhatIf answer{.change = scenario.change};
    for (const isa::Launch& launch : launches) {
      DOVETAIL_TRY(simulator->launch(program.subspan(launch.begin, launch.count), dram, launch.begin));
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
