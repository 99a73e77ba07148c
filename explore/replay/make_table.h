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

// Measures the best `count` again, each `times` times alongside the default, and takes the median as their cost, until
// all of the best have been: of thousands of times the least are the luckiest, and a replayed search would have to find
// luck. Errors: the table is not the task's; the default schedule cannot be measured.
Result<void> measure_best_again(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                                Table& table, std::size_t count = 128, std::size_t times = 3,
                                const std::function<void(std::size_t measured)>& on_progress = nullptr);

}  // namespace dovetail::explore
