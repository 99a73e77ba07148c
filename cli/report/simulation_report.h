// The JSON of a simulation, for `dovetail simulate` and the C interface.
#pragma once

#include "base/json.h"
#include "cli/program/simulation.h"
#include "driver/energy.h"
#include "explore/energy/table.h"

namespace dovetail::cli {

driver::EnergyFacts energy_of(const Simulation& simulation, const explore::EnergyTable& table);
// docs/schema/simulate.json. Precondition: the simulation ran.
Json simulation_json(const Simulation& simulation, const driver::EnergyFacts& energy);

}  // namespace dovetail::cli
