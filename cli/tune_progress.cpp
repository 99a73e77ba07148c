#include "cli/tune_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/output.h"
#include "cli/watched_work.h"

namespace dovetail::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto kFirstLines = 10s, kLeastOften = 300s;  // between lines, where no terminal shows them
constexpr int kBarCells = 20;

}  // namespace

void TuneProgress::show(std::string_view target, const tune::Progress& progress) {
  const auto now = Clock::now();
  const bool terminal = isatty(STDERR_FILENO);
  if (now < next_.value_or(terminal ? start_ : start_ + kFirstLines)) return;
  const tune::TaskResult& task = progress.tasks[progress.task];
  std::string line = fmt::format("{}: {} of {} trials, {:.3f}x as fast so far ({} {:.3f}x), {}", target,
                                 progress.trials, progress.most_trials, tune::gain_of(progress.tasks).network,
                                 task.name, task.gain(), duration_text(progress.seconds));
  if (progress.seconds_left) line += fmt::format(", about {} to go", duration_text(*progress.seconds_left));
  if (!terminal) {
    print_message("progress      {}\n", line);
    next_ = now + std::clamp<Clock::duration>(now - start_, kFirstLines, kLeastOften);
    return;
  }
  const double part =
      static_cast<double>(progress.trials) / static_cast<double>(std::max<std::int64_t>(progress.most_trials, 1));
  const int filled = static_cast<int>(std::min(part, 1.0) * kBarCells);
  fmt::print(stderr, "\r[{:#<{}}{: <{}}] {}\x1b[K", "", filled, "", kBarCells - filled, printable(line));
  std::fflush(stderr);
  line_shown_ = true;
  next_ = now + 200ms;
}

void TuneProgress::end() {
  if (line_shown_) fmt::print(stderr, "\r\x1b[K");
  line_shown_ = false;
}

}  // namespace dovetail::cli
