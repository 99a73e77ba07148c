// The energy of the accelerator's steps, for people and for machines.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "driver/energy.h"

namespace dovetail::cli {

std::string joules_text(double joules);                        // "12.3 uJ"
std::string energy_summary(const driver::EnergyFacts& facts);  // one line
// The lines "energy" with a table of the components, and what is missing; ends with '\n'.
std::string energy_text(const driver::EnergyFacts& facts);
// to_json(Energy) with "macs" and "pj_per_mac", on the chip and in all; null: there is none
Json energy_json(const std::optional<driver::EnergyFacts>& facts);

}  // namespace dovetail::cli
