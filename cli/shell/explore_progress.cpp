#include "cli/shell/explore_progress.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cli/shell/watched_work.h"

namespace dovetail::cli {

void ExploreProgress::show(const explore::SweepProgress& progress) {
  if (!line_.is_due()) return;
  const double seconds = line_.seconds();
  const auto fresh = static_cast<double>(progress.done - progress.known);
  std::string line =
      fmt::format("{} of {} points: {} measured, {} pruned, {} infeasible, {} on the front", progress.done,
                  progress.planned, progress.measured, progress.pruned, progress.infeasible, progress.front);
  if (fresh > 0 && seconds > 1)
    line += fmt::format("; {:.0f} a minute, about {} to go", fresh / seconds * 60,
                        duration_text(static_cast<double>(progress.planned - progress.done) * seconds / fresh));
  line_.show(static_cast<double>(progress.done) / static_cast<double>(std::max<std::uint64_t>(progress.planned, 1)),
             line);
}

}  // namespace dovetail::cli
