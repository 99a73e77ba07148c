#include "explore/area/area_model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/json_problem.h"
#include "explore/area/chip_memories.h"
#include "explore/area/kit_file.h"
#include "simulator/rtl/find.h"

namespace dovetail::explore {

Result<Technology> technology_from_json(const Json& json, std::string_view where) {
  try {
    Technology technology;
    technology.name = json.at("name").get<std::string>();
    technology.node_nm = json.at("node_nm").get<double>();
    for (const auto& [key, member] :
         {std::pair("gate_um2", &Technology::gate_um2), std::pair("flip_flop_um2", &Technology::flip_flop_um2),
          std::pair("utilisation", &Technology::utilization), std::pair("sram_um2_per_bit", &Technology::sram_per_bit),
          std::pair("sram_um2_per_edge", &Technology::sram_per_edge), std::pair("two_ports", &Technology::two_ports),
          std::pair("level_ps", &Technology::level_ps)}) {
      technology.*member = json.at(key).at("value").get<double>();
      if (!(technology.*member > 0)) return bad_kit_file(where, fmt::format("{} must be above 0", key));
    }
    return technology;
  } catch (const Json::exception& error) {
    return bad_kit_file(where, json_problem(error.what()));
  }
}

namespace {

// The runs of a flow (hw/syn/sweep.FLOW.json).
Result<std::vector<SynthesisRun>> runs_of(const std::filesystem::path& file) {
  DOVETAIL_ASSIGN(const Json json, read_json_file(file));
  return synthesis_runs_from_json(json, file.string());
}

}  // namespace

Result<AreaModel> AreaModel::of_kit() {
  const std::filesystem::path folder = simulator::hardware_folder() / "syn";
  const std::filesystem::path sweep = folder / "sweep.generic.json", technology = folder / "technology.json";
  DOVETAIL_ASSIGN(std::vector<SynthesisRun> runs, runs_of(sweep));
  DOVETAIL_ASSIGN(LogicModel gates, LogicModel::fit(std::move(runs), sweep.string()));
  DOVETAIL_ASSIGN(const Json numbers, read_json_file(technology));
  DOVETAIL_ASSIGN(Technology read, technology_from_json(numbers, technology.string()));
  return AreaModel(std::move(gates), std::move(read));
}

AreaEstimate AreaModel::estimate(const isa::HardwareConfig& hardware) const {
  AreaEstimate area;
  area.gates = gates_.logic(hardware);
  area.flip_flops = gates_.flip_flops(hardware);
  const Technology& t = technology_;
  double memories = 0;
  for (const MemoryMacro& memory : memories_of(hardware)) {
    const auto bits = static_cast<double>(memory.size());
    area.memory_bits += bits;
    memories += t.two_ports * (bits * t.sram_per_bit + std::sqrt(bits) * t.sram_per_edge);
  }
  area.logic_mm2 = (area.gates * t.gate_um2 + area.flip_flops * t.flip_flop_um2) / t.utilization * 1e-6;
  area.sram_mm2 = memories * 1e-6;
  area.logic_levels = gates_.levels(hardware);
  area.clock_mhz = 1e6 / (std::max(1.0, area.logic_levels) * t.level_ps);
  return area;
}

std::string AreaModel::error_text() const {
  const ModelError held_back = gates_.logic_error(true);
  const auto [least, most] = gates_.multipliers();
  return fmt::format(
      "gates off by {:.1f} % on average, {:.1f} % at most, on {} other runs; "
      "all runs have {:.0f} to {:.0f} multipliers",
      100 * held_back.mean, 100 * held_back.most, held_back.runs, least, most);
}

Json AreaModel::report(const isa::HardwareConfig& hardware) const {
  const AreaEstimate area = estimate(hardware);
  const ModelError held_back = gates_.logic_error(true);
  return {{"config", hardware.name},
          {"technology", technology_.name},
          {"gates", area.gates},
          {"flip_flops", area.flip_flops},
          {"memory_bits", area.memory_bits},
          {"logic_mm2", area.logic_mm2},
          {"sram_mm2", area.sram_mm2},
          {"area_mm2", area.mm2()},
          {"logic_levels", area.logic_levels},
          {"clock_mhz", area.clock_mhz},
          {"error", {{"runs", held_back.runs}, {"gates_mean", held_back.mean}, {"gates_most", held_back.most}}},
          {"extrapolates", extrapolates(hardware)}};
}

}  // namespace dovetail::explore
