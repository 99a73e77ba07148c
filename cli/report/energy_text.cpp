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
  return entry("energy",
               fmt::format("{}, {:.0f} % of it in the DRAM; {}", joules_text(energy.joules), dram, energy.statement));
}

std::string energy_text(const driver::EnergyFacts& facts) {
  const explore::Energy& energy = facts.energy;
  std::string text = fmt::format("energy        {}: {} on the chip, {} in the DRAM", joules_text(energy.joules),
                                 joules_text(energy.chip_joules()), joules_text(energy.dram_joules()));
  if (facts.macs > 0)
    text += fmt::format("; {:.3g} and {:.3g} pJ a MAC", per_mac_pj(energy.chip_joules(), facts.macs),
                        per_mac_pj(energy.dram_joules(), facts.macs));
  text += fmt::format("\n              {}; docs/reference/energy.md\n", energy.statement);
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
  json["macs"] = facts->macs;
  json["pj_per_mac"] = {{"chip", per_mac_pj(facts->energy.chip_joules(), facts->macs)},
                        {"all", per_mac_pj(facts->energy.joules, facts->macs)}};
  return json;
}

}  // namespace dovetail::cli
