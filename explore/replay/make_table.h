// Measures the candidates of a task into a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "explore/replay/table.h"

namespace dovetail::explore {

struct TableOptions {
  std::size_t most = 4096;  // candidates
  std::uint64_t seed = 1;   // seed of the draws
  std::function<void(std::size_t measured)> on_progress = nullptr;
};

// Measures distinct random draws, as in the random search, or all candidates if the space has no more than `most`.
// Error: the default schedule cannot be measured.
Result<Table> make_table(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                         const TableOptions& options = {});

// Measures the best `count` candidates again, each `times` times paired with the default, and stores the median as
// their cost, until all of the best were measured again. Reason: the lowest of thousands of measured times are low by
// chance, and a replayed search would have to find them. Errors: the table is for another task; the default schedule
// cannot be measured.
Result<void> measure_best_again(const schedule::Task& task, const schedule::Sketch& sketch, tune::Measurer& measurer,
                                Table& table, std::size_t count = 128, std::size_t times = 3,
                                const std::function<void(std::size_t measured)>& on_progress = nullptr);

}  // namespace dovetail::explore
