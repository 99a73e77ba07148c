// The tables that --technology and --energy name: a user's file, or an example of the kit (explore/technology/NAME.json
// and explore/energy/NAME.json, embedded by the build).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "explore/area/area_model.h"
#include "explore/energy/table.h"

namespace dovetail::explore {

struct ExampleTables {
  std::string_view name;  // "cmos28"
  std::string_view area, energy;
};
std::span<const ExampleTables> example_tables();

// The kit's table, with the rows of an example or of a file. nullopt or "cmos45": the kit's table alone.
Result<EnergyTable> choose_energy(const std::optional<std::string>& given);
// The constants of an example or of a file. nullopt or "cmos45": those of the kit,
// hw/syn/technology.json.
Result<Technology> choose_technology(const std::optional<std::string>& given);
// AreaModel::of_kit() with these constants.
Result<AreaModel> choose_area(const std::optional<std::string>& technology);

}  // namespace dovetail::explore
