// Measures the candidates of a task into a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "explore/replay/table.h"

namespace dovetail::explore {

struct TableOptions {
  std::size_t most = 4096;  // candidates
  std::uint64_t seed = 1;   // of the draws
  std::function<void(std::size_t measured)> on_progress = nullptr;
};

// Distinct random draws, as the random search makes them; where the space has fewer candidates, all of them. Errors:
// the default schedule cannot be measured.
Result<Table> make_table(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                         const TableOptions& options = {});

}  // namespace dovetail::explore
