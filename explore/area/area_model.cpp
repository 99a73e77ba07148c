#include "explore/area/area_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/hash.h"
#include "explore/area/chip_memories.h"
#include "isa/nearest.h"
#include "simulator/rtl/find.h"

namespace dovetail::explore {

namespace {

struct TechnologyRow {
  std::string_view key, unit;  // the unit with which the text of a file must begin
  double Technology::*value;
  double least, most;  // of a plausible value, from 2 nm to 350 nm
};
constexpr std::array<TechnologyRow, 7> kTechnologyRows{{
    {"gate_um2", "µm²", &Technology::gate_um2, 0.001, 500},
    {"flip_flop_um2", "µm²", &Technology::flip_flop_um2, 0.001, 5000},
    {"utilisation", "of", &Technology::utilization, 0.05, 1},
    {"sram_um2_per_bit", "µm²", &Technology::sram_per_bit, 0.001, 100},
    {"sram_um2_per_edge", "µm²", &Technology::sram_per_edge, 0.001, 1000},
    {"two_ports", "times", &Technology::two_ports, 1, 10},
    {"level_ps", "ps", &Technology::level_ps, 0.1, 5000},
}};

Diagnostic bad_technology(std::string_view where, std::string_view key, std::string why, std::string hint) {
  return {"cannot read a technology file", fmt::format("{}, \"{}\"", where, key), std::move(why), std::move(hint)};
}

// A number with its source.
Result<double> read_row(const Json& json, std::string_view where, const TechnologyRow& row) {
  constexpr std::array<std::string_view, 3> kKeys{"value", "unit", "source"};
  if (!json.is_object())
    return bad_technology(where, row.key, "it is missing or not a JSON object",
                          R"(write {"value": 1, "unit": "µm²", "source": "..."})");
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(kKeys, key) == kKeys.end())
      return bad_technology(where, fmt::format("{}.{}", row.key, key), "the key is unknown",
                            isa::suggestion(key, kKeys));
  const Json source = json.value("source", Json()), value = json.value("value", Json());
  if (!source.is_string() || source.get_ref<const std::string&>().empty())
    return bad_technology(where, row.key, "\"source\" is missing or not text",
                          "name the source of the number: a library, a paper; or state that it is assumed");
  if (const Json unit = json.value("unit", Json());
      !unit.is_null() && !(unit.is_string() && unit.get_ref<const std::string&>().starts_with(row.unit)))
    return bad_technology(where, fmt::format("{}.unit", row.key),
                          fmt::format("the unit is {}, but must be \"{}\"", unit.dump(), row.unit),
                          "convert the number; areas are in µm², delays in ps");
  if (!value.is_number() || !(value.get<double>() >= row.least && value.get<double>() <= row.most))
    return bad_technology(where, row.key,
                          fmt::format("\"value\" is {}, not a number from {:g} to {:g}",
                                      value.is_null() ? "missing" : value.dump(), row.least, row.most),
                          "areas are in µm², delays in ps");
  return value.get<double>();
}

}  // namespace

std::string Technology::key() const {
  std::string text = fmt::format("{} {}", name, node_nm);
  for (const TechnologyRow& row : kTechnologyRows) text += fmt::format(" {}", this->*row.value);
  return text;
}

Result<Technology> technology_from_json(const Json& json, std::string_view where) {
  std::vector<std::string_view> keys{"name", "about", "node_nm"};
  for (const TechnologyRow& row : kTechnologyRows) keys.push_back(row.key);
  if (!json.is_object())
    return Diagnostic{"cannot read a technology file", std::string(where), "expected a JSON object",
                      "see docs/howto/exploring.md"};
  Diagnostics errors;
  for (const auto& [key, value] : json.items())
    if (std::ranges::find(keys, key) == keys.end())
      errors.push_back(bad_technology(where, key, "the key is unknown", isa::suggestion(key, keys)));
  Technology technology;
  const Json name = json.value("name", Json()), node = json.value("node_nm", Json());
  if (name.is_string() && !name.get_ref<const std::string&>().empty()) technology.name = name.get<std::string>();
  else
    errors.push_back(bad_technology(where, "name", "it is missing or not text", "for example \"28 nm, our library\""));
  if (node.is_number() && node.get<double>() >= 1 && node.get<double>() <= 350) technology.node_nm = node.get<double>();
  else
    errors.push_back(bad_technology(where, "node_nm", "it is missing or not from 1 to 350", "give it in nanometers"));
  for (const TechnologyRow& row : kTechnologyRows) {
    const auto value = read_row(json.value(row.key, Json()), where, row);
    if (value.ok()) technology.*row.value = *value;
    else errors.insert(errors.end(), value.errors().begin(), value.errors().end());
  }
  if (!errors.empty()) return errors;
  return technology;
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
  std::vector<FpgaModel> fpgas;
  for (const FpgaFamily& family : kFpgaFamilies) {
    DOVETAIL_ASSIGN(FpgaModel fpga, FpgaModel::of_kit(family));
    fpgas.push_back(std::move(fpga));
  }
  return AreaModel(std::move(gates), std::move(read), std::move(fpgas));
}

AreaEstimate AreaEstimate::times(std::int64_t accelerators) const {
  const auto count = static_cast<double>(accelerators);
  AreaEstimate all = *this;
  for (double* const each : {&all.gates, &all.flip_flops, &all.memory_bits, &all.logic_mm2, &all.sram_mm2})
    *each *= count;
  return all;
}

AreaEstimate& AreaEstimate::operator+=(const AreaEstimate& other) {
  gates += other.gates;
  flip_flops += other.flip_flops;
  memory_bits += other.memory_bits;
  logic_mm2 += other.logic_mm2;
  sram_mm2 += other.sram_mm2;
  logic_levels = std::max(logic_levels, other.logic_levels);
  clock_mhz = std::min(clock_mhz, other.clock_mhz);
  return *this;
}

std::string AreaModel::key() const {
  Hash hash;
  hash.add(technology_.key());
  const auto add = [&](const LogicModel& model) {
    for (const SynthesisRun& run : model.runs())
      for (const BlockCount& block : run.blocks) hash.add(fmt::format("{} {} ", block.logic, block.flip_flops));
  };
  add(gates_);
  for (const FpgaModel& fpga : fpgas_) add(fpga.logic());
  return hash.text();
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

AreaEstimate AreaModel::estimate(const isa::Machine& machine) const {
  AreaEstimate area = estimate(machine.hardware);
  if (machine.is_uniform()) return area.times(machine.system.accelerators);
  for (const isa::HardwareConfig& other : machine.system.others) area += estimate(other);
  return area;
}

Json AreaModel::report(const isa::Machine& machine) const {
  const AreaEstimate area = estimate(machine);
  const ModelError held_back = gates_.logic_error(true);
  return {{"config", isa::name_of(machine)},
          {"accelerators", machine.system.accelerators},
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
          {"extrapolates", all_extrapolated(machine, gates_)}};
}

}  // namespace dovetail::explore
