#include "cli/report/energy_text.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/text.h"

namespace dovetail::cli {

namespace {

double per_mac_pj(double joules, std::uint64_t macs) {
  return macs == 0 ? 0 : joules * 1e12 / static_cast<double>(macs);
}
Json per_mac_json(const explore::Energy& energy, std::uint64_t macs) {
  return {{"chip", per_mac_pj(energy.chip_joules(), macs)}, {"all", per_mac_pj(energy.joules, macs)}};
}

// The energy per multiplication of the model, which can be compared between designs: the energy per executed
// multiplication decreases if a design pads more.
std::string per_mac_text(const driver::EnergyFacts& facts) {
  const explore::Energy& energy = facts.energy;
  if (facts.useful_macs.value_or(0) == 0) return {};
  return fmt::format("{:.3g} pJ per MAC of the model", per_mac_pj(energy.joules, *facts.useful_macs));
}

}  // namespace

std::string joules_text(double joules) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}}};
  for (const auto& [unit, name] : kUnits)
    if (joules >= unit) return fmt::format("{:.3g} {}", joules / unit, name);
  return fmt::format("{:.3g} pJ", joules * 1e12);
}

std::string energy_summary(const driver::EnergyFacts& facts) {
  const explore::Energy& energy = facts.energy;
  const double dram = energy.joules > 0 ? 100 * energy.dram_joules() / energy.joules : 0;
  return entry("energy", fmt::format("{}, {:.0f} % of it in the DRAM{}; {}", joules_text(energy.joules), dram,
                                     per_mac_text(facts).empty() ? "" : ", " + per_mac_text(facts), energy.statement));
}

std::string energy_text(const driver::EnergyFacts& facts) {
  const explore::Energy& energy = facts.energy;
  std::string text = fmt::format("energy        {}: {} on the chip, {} in the DRAM", joules_text(energy.joules),
                                 joules_text(energy.chip_joules()), joules_text(energy.dram_joules()));
  text += "\n";
  const auto per_mac = [&](std::uint64_t macs, std::string_view of) {
    text += fmt::format("              {:.3g} pJ per MAC {}: {:.3g} on the chip, {:.3g} in the DRAM\n",
                        per_mac_pj(energy.joules, macs), of, per_mac_pj(energy.chip_joules(), macs),
                        per_mac_pj(energy.dram_joules(), macs));
  };
  if (facts.useful_macs.value_or(0) > 0) per_mac(*facts.useful_macs, "of the model");
  if (facts.macs > 0) per_mac(facts.macs, "executed, padding included");
  text += fmt::format("              {}; docs/reference/energy.md\n", energy.statement);
  for (const std::string& what : energy.missing) text += fmt::format("not included  {}\n", what);
  TextTable table({"component", "place", ">energy", ">share"});
  for (const explore::Energy::Part& part : energy.parts)
    if (part.joules > 0)
      table.add({part.component, part.on_chip ? "chip" : "DRAM", joules_text(part.joules),
                 fmt::format("{:.1f} %", 100 * part.joules / energy.joules)});
  if (!table.empty()) text += fmt::format("\n{}\n", table.to_string());
  return text;
}

Json energy_json(const std::optional<driver::EnergyFacts>& facts) {
  if (!facts) return nullptr;
  Json json = to_json(facts->energy);
  json["useful_macs"] = facts->useful_macs ? Json(*facts->useful_macs) : Json();
  json["executed_macs"] = facts->macs;
  json["pj_per_mac"] = facts->useful_macs ? per_mac_json(facts->energy, *facts->useful_macs) : Json();
  json["pj_per_executed_mac"] = per_mac_json(facts->energy, facts->macs);
  return json;
}

}  // namespace dovetail::cli
