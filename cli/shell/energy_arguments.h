// --energy of a command.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/shell/options.h"
#include "explore/energy/table.h"

namespace dovetail::cli {

struct EnergyArguments {
  std::optional<std::string> file;

  void declare(Options& options);
  // The kit's energy table, with rows replaced by those of the given example or file. `technology`: of --technology;
  // the table's statement then says whether it is for another node.
  Result<explore::EnergyTable> table(const std::optional<std::string>& technology) const;
};

}  // namespace dovetail::cli
