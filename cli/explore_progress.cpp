#include "cli/explore_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/watched_work.h"

namespace dovetail::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto kFirstLines = 10s, kLeastOften = 300s;  // between lines, where no terminal shows them

}  // namespace

void ExploreProgress::show(const explore::SweepProgress& progress) {
  const auto now = Clock::now();
  const bool terminal = isatty(STDERR_FILENO);
  if (now < next_.value_or(terminal ? start_ : start_ + kFirstLines)) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto fresh = static_cast<double>(progress.done - progress.known);
  std::string line =
      fmt::format("{} of {} points: {} measured, {} pruned, {} infeasible, {} on the front", progress.done,
                  progress.planned, progress.measured, progress.pruned, progress.infeasible, progress.front);
  if (fresh > 0 && seconds > 1)
    line += fmt::format("; {:.0f} a minute, about {} to go", fresh / seconds * 60,
                        duration_text(static_cast<double>(progress.planned - progress.done) * seconds / fresh));
  if (!terminal) {
    print_message("progress      {}\n", line);
    next_ = now + std::clamp<Clock::duration>(now - start_, kFirstLines, kLeastOften);
    return;
  }
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  line_shown_ = true;
  next_ = now + 200ms;
}

void ExploreProgress::end() {
  if (line_shown_) fmt::print(stderr, "\r\x1b[K");
  line_shown_ = false;
}

}  // namespace dovetail::cli
