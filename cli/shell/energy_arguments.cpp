#include "cli/shell/energy_arguments.h"

#include "explore/sweep/evaluate.h"
#include "explore/technology/tables.h"

namespace dovetail::cli {

void EnergyArguments::declare(Options& options) {
  options.value("--energy", "NAME|FILE.json", file,
                "values that replace those of the kit's energy table (docs/reference/energy.md): rows with value, unit "
                "and source, in a file; or a name: cmos45 (the kit's), or the examples cmos28 and cmos7",
                File::read);
}

Result<explore::EnergyTable> EnergyArguments::table(const std::optional<std::string>& technology) const {
  DOVETAIL_ASSIGN(explore::EnergyTable table, explore::choose_energy(file));
  if (technology) {
    DOVETAIL_ASSIGN(const explore::Technology chip, explore::choose_technology(technology));
    table.mixed = mixed_technologies(chip, table);
  }
  return table;
}

}  // namespace dovetail::cli
