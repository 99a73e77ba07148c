#include "cli/shell/tune_progress.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "cli/shell/watched_work.h"

namespace dovetail::cli {

void TuneProgress::show(std::string_view target, const tune::Progress& progress) {
  if (!line_.is_due()) return;
  const tune::TaskResult& task = progress.tasks[progress.task];
  std::string line = fmt::format("{}: {} of {} trials, {:.3f}x as fast so far ({} {:.3f}x), {}", target,
                                 progress.trials, progress.most_trials, tune::gain_of(progress.tasks).network,
                                 task.name, task.gain(), duration_text(progress.seconds));
  if (progress.seconds_left) line += fmt::format(", about {} to go", duration_text(*progress.seconds_left));
  line_.show(
      static_cast<double>(progress.trials) / static_cast<double>(std::max<std::int64_t>(progress.most_trials, 1)),
      line);
}

}  // namespace dovetail::cli
