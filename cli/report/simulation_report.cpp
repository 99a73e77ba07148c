#include "cli/report/simulation_report.h"

#include <optional>

#include "cli/report/energy_text.h"
#include "cli/report/system_text.h"
#include "cli/report/timing_text.h"

namespace dovetail::cli {

driver::EnergyFacts energy_of(const Simulation& simulation, const explore::EnergyTable& table) {
  const driver::System& system = simulation.options().system;
  std::optional<explore::RunTime> time;
  if (!simulation.timed().traces.empty())
    time = {driver::cycles_of(simulation.timed()), system.clock_mhz * 1e6, system.accelerators};
  return driver::energy_facts(simulation.counters(), simulation.config(), system.memory, time, table);
}

Json simulation_json(const Simulation& simulation, const driver::EnergyFacts& energy) {
  const driver::TimedProgram& timed = simulation.timed();
  Json launches = Json::array();
  for (std::size_t i = 0; i < simulation.of_launches().size(); ++i)
    launches.push_back({{"begin", timed.launches[i].begin},
                        {"count", timed.launches[i].count},
                        {"counters", to_json(simulation.of_launches()[i])}});
  Json json{{"kind", "simulate"},
            {"program", timed.name},
            {"engine", simulation.options().engine},
            {"hardware", isa::config_to_json(timed.config)},
            {"launches", launches}};
  if (const auto& point = simulation.stopped()) {
    Json& until = json["until"] = {{"place", *simulation.options().until}, {"launch", point->launch}};
    if (point->next) until["instruction"] = *point->next;
    if (point->cycle) until["cycle"] = *point->cycle;
  }
  json["counters"] = to_json(simulation.counters());
  json["seconds"] = simulation.seconds();
  json["compared_with"] = nullptr;
  json["energy"] = energy_json(energy);
  if (!timed.traces.empty()) {
    json["system"] = system_json(simulation.options().system);
    json["timing"] = timing_json(timed, simulation.options().system);
  }
  return json;
}

}  // namespace dovetail::cli
