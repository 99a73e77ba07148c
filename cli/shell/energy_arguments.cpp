#include "cli/shell/energy_arguments.h"

#include "base/file.h"

namespace dovetail::cli {

void EnergyArguments::declare(Options& options) {
  options.value("--energy", "FILE.json", file,
                "values that replace those of the kit's energy table (docs/reference/energy.md): rows with value, unit "
                "and source",
                File::read);
}

Result<explore::EnergyTable> EnergyArguments::table() const {
  if (!file) return explore::default_energy_table();
  DOVETAIL_ASSIGN(const std::string text, read_text_file(*file));
  DOVETAIL_ASSIGN(explore::EnergyTable table, explore::default_energy_table());
  return overlay(std::move(table), text, *file);
}

}  // namespace dovetail::cli
