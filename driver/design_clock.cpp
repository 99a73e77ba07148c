#include "driver/design_clock.h"

#include <fmt/format.h>

#include "explore/area/area_model.h"
#include "explore/area/clock_model.h"

namespace dovetail::driver {

std::optional<DesignClock> design_clock(const isa::HardwareConfig& config, double level_ps) {
  const auto model = explore::AreaModel::of_kit();
  if (!model.ok()) return std::nullopt;
  const explore::AreaEstimate area = model->estimate(config);
  const double kit_ps = model->technology().level_ps, ps = level_ps == 0 ? kit_ps : level_ps;
  return DesignClock{area.clock_mhz * kit_ps / ps, area.logic_levels, ps};
}

std::string beyond_design(const isa::HardwareConfig& config, double clock_mhz, double level_ps) {
  const auto design = design_clock(config, level_ps);
  if (!design || clock_mhz <= design->mhz) return {};
  return fmt::format(
      "{:.6g} MHz is beyond the {:.0f} MHz of the design: {:.0f} levels of logic of {:.0f} ps "
      "by the area model, before placement",
      clock_mhz, design->mhz, design->levels, design->level_ps);
}

Result<SystemChanges> with_clock_model(const isa::Machine& machine, SystemChanges changes) {
  if (changes.clock_model.empty()) return changes;
  DOVETAIL_ASSIGN(const explore::ClockModel model, explore::choose_clock_model(changes.clock_model, "--clock"));
  DOVETAIL_ASSIGN(changes.clock_mhz, model.clock_mhz(machine));
  changes.clock_from = fmt::format("--clock {}: {}", changes.clock_model, model.text());
  changes.clock_is_modeled = true;
  changes.clock_model.clear();
  return changes;
}

}  // namespace dovetail::driver
