#include "cli/report/system_text.h"

#include <fmt/format.h>

#include "driver/value_text.h"

namespace dovetail::cli {

std::string system_text(const driver::System& system) {
  std::string text = fmt::format("clock         {:.6g} MHz ({})\nmemory        {} ({})\n", system.clock_mhz,
                                 system.clock_from, simulator::to_string(system.memory), system.memory_from);
  if (system.accelerators > 1)
    text += fmt::format("accelerators  {} that share the memory{} ({})\n", system.accelerators,
                        system.split == isa::Split::samples  ? ", each with its own sample"
                        : system.split == isa::Split::layers ? " and the work of each layer"
                                                             : " and the layers of a batch's images",
                        system.accelerators_from);
  return text;
}

std::string hardware_text(const isa::AcceleratorConfigs& configs) {
  std::string text;
  for (std::size_t i = 0; i < configs.size(); ++i)
    if (configs.kind(i) == i)
      text += fmt::format("{:<14}{}\n", i == 0 ? "hardware" : "", driver::config_text(configs[i]));
  return text;
}

Json system_json(const driver::System& system) {
  Json json{{"clock_mhz", system.clock_mhz},
            {"clock_from", system.clock_from},
            {"memory", simulator::to_string(system.memory)},
            {"memory_from", system.memory_from}};
  if (system.accelerators > 1)
    json.update({{"accelerators", system.accelerators}, {"accelerators_from", system.accelerators_from}});
  if (system.divides_samples()) json["split"] = isa::name(system.split);
  for (const isa::HardwareConfig& other : system.others) json["others"].push_back(isa::config_to_json(other));
  return json;
}

}  // namespace dovetail::cli
