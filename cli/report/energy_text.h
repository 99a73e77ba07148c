// The energy of the accelerator's steps, as text and as JSON.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "driver/energy.h"

namespace dovetail::cli {

std::string joules_text(double joules);                        // "12.3 uJ"
std::string energy_summary(const driver::EnergyFacts& facts);  // one line
// The line "energy", a table of the components, and what the sum does not include; ends with '\n'.
std::string energy_text(const driver::EnergyFacts& facts);
// to_json(Energy) with "useful_macs" and "pj_per_mac" (of the model: on the chip, and in total; null for a program that
// is not of a model), "executed_macs" and "pj_per_executed_mac"; null without `facts`
Json energy_json(const std::optional<driver::EnergyFacts>& facts);

}  // namespace dovetail::cli
