#include "cli/energy_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text_table.h"
#include "bundle/code/accel.h"
#include "cli/hardware_area.h"
#include "explore/area/area_model.h"

namespace dovetail::cli {

namespace {

double per_mac_pj(double joules, std::uint64_t macs) {
  return macs == 0 ? 0 : joules * 1e12 / static_cast<double>(macs);
}

}  // namespace

void EnergyArguments::declare(Options& options) {
  options.value("--energy", "FILE.json", file,
                "what differs from the kit's energy table (docs/reference/energy.md): rows with value, unit and source",
                File::read);
}

Result<explore::EnergyTable> EnergyArguments::table() const {
  if (!file) return explore::default_energy_table();
  DOVETAIL_ASSIGN(const std::string text, read_text_file(*file));
  DOVETAIL_ASSIGN(explore::EnergyTable table, explore::default_energy_table());
  return overlay(std::move(table), text, *file);
}

std::optional<explore::LogicSize> logic_size(const isa::HardwareConfig& config) {
  const auto committed = committed_area(config, "generic");
  if (!committed.ok() || !*committed || (*committed)->area.rows.empty()) {
    const auto model = explore::AreaModel::of_kit();
    if (!model.ok()) return std::nullopt;
    const explore::AreaEstimate estimate = model->estimate(config);
    return explore::LogicSize{estimate.gates, estimate.flip_flops};
  }
  explore::LogicSize size;
  const auto resources = area_resources("generic");
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const auto used = static_cast<double>((*committed)->area.rows.front().used[i]);
    if (resources[i].key == "gates") size.gates = used;
    if (resources[i].key == "ff") size.flip_flops = used;
  }
  return size;
}

EnergyFacts& EnergyFacts::operator+=(const EnergyFacts& other) {
  energy += other.energy;
  macs += other.macs;
  return *this;
}

EnergyFacts energy_facts(const simulator::Counters& counters, const isa::HardwareConfig& config,
                         const simulator::MemorySpec& memory, const std::optional<explore::RunTime>& time,
                         const explore::EnergyTable& table) {
  return {energy_of(counters, config, memory, time, table, time ? logic_size(config) : std::nullopt),
          counters.macs * static_cast<std::uint64_t>(time ? time->accelerators : 1)};
}

Result<std::optional<EnergyFacts>> energy_facts(const bundle::Bundle& bundle,
                                                std::span<const runtime::StepProfile> steps, const System& system,
                                                const explore::EnergyTable& table) {
  DOVETAIL_ASSIGN(const auto accelerated, bundle::accel_steps(bundle));
  std::optional<EnergyFacts> sum;
  for (const auto& [index, step, code] : accelerated) {
    const runtime::StepProfile& run = steps[index];
    if (run.runs == 0) continue;
    std::optional<explore::RunTime> time;
    if (!run.launches.empty()) {
      time = explore::RunTime{0, system.clock_mhz * 1e6, system.accelerators};
      for (const simulator::LaunchTrace& launch : run.launches) time->cycles += launch.cycles;
    }
    const EnergyFacts facts = energy_facts(run.counters, code.config, system.memory, time, table);
    if (sum) *sum += facts;
    else sum = facts;
  }
  for (std::size_t s = 0; s < bundle.steps.size(); ++s)
    for (std::size_t p = 0; p < std::min(bundle.steps[s].programs.size(), steps[s].programs.size()); ++p) {
      DOVETAIL_ASSIGN(const auto inner, energy_facts(bundle.steps[s].programs[p], steps[s].programs[p], system, table));
      if (inner && sum) *sum += *inner;
      else if (inner) sum = inner;
    }
  return sum;
}

std::string joules_text(double joules) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}}};
  for (const auto& [unit, name] : kUnits)
    if (joules >= unit) return fmt::format("{:.3g} {}", joules / unit, name);
  return fmt::format("{:.3g} pJ", joules * 1e12);
}

std::string energy_text(const EnergyFacts& facts) {
  const explore::Energy& energy = facts.energy;
  std::string text = fmt::format("energy        {}: {} on the chip, {} in the DRAM", joules_text(energy.joules),
                                 joules_text(energy.chip_joules()), joules_text(energy.dram_joules()));
  if (facts.macs > 0)
    text += fmt::format("; {:.3g} and {:.3g} pJ a MAC", per_mac_pj(energy.chip_joules(), facts.macs),
                        per_mac_pj(energy.dram_joules(), facts.macs));
  text += fmt::format("\n              {}; docs/reference/energy.md\n", energy.statement);
  for (const std::string& what : energy.missing) text += fmt::format("not in it     {}\n", what);
  TextTable table({"component", "place", ">energy", ">share"});
  for (const explore::Energy::Part& part : energy.parts)
    if (part.joules > 0)
      table.add({part.component, part.on_chip ? "chip" : "DRAM", joules_text(part.joules),
                 fmt::format("{:.1f} %", 100 * part.joules / energy.joules)});
  if (!table.empty()) text += fmt::format("\n{}\n", table.to_string());
  return text;
}

Json energy_json(const std::optional<EnergyFacts>& facts) {
  if (!facts) return nullptr;
  Json json = to_json(facts->energy);
  json["macs"] = facts->macs;
  json["pj_per_mac"] = {{"chip", per_mac_pj(facts->energy.chip_joules(), facts->macs)},
                        {"all", per_mac_pj(facts->energy.joules, facts->macs)}};
  return json;
}

}  // namespace dovetail::cli
