#include "cli/shell/progress.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/shell/output.h"
#include "cli/shell/shown_progress.h"
#include "cli/shell/terminal.h"
#include "cli/shell/watched_work.h"
#include "cli/shell/wrapped_text.h"

namespace dovetail::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto kFirstBar = 1000ms, kNextBar = 250ms;  // on a terminal
constexpr auto kFirstLine = 10s, kLastPause = 300s;   // elsewhere: the pause doubles up to this
constexpr std::size_t kBarCells = 20, kBarColumns = kBarCells + 3;

}  // namespace

void print_progress(std::string_view step) { print_message("progress      {}\n", step); }

ProgressLine::ProgressLine(Begin begin)
    : next_(start_ + (is_terminal(Stream::error) ? (begin == Begin::at_once ? Clock::duration(0) : kFirstBar)
                                                 : Clock::duration(kFirstLine))) {}

void ProgressLine::show(std::optional<double> part, std::string_view text) {
  const auto now = Clock::now();
  if (now < next_) return;
  const auto width = terminal_width(Stream::error);
  if (!width) {
    print_progress(text);
    next_ = now + std::clamp<Clock::duration>(now - start_, kFirstLine, kLastPause);
    return;
  }
  std::string line;
  if (part) {
    const auto filled = static_cast<std::size_t>(std::clamp(*part, 0.0, 1.0) * static_cast<double>(kBarCells));
    line = "[" + std::string(filled, '#') + std::string(kBarCells - filled, ' ') + "] ";
  }
  // A text that is longer than the terminal's line could not be overwritten.
  const std::size_t room = *width - 1 - (part ? kBarColumns : 0);
  line += wrapped(printable(text), room, room, LongWords::split).front();
  show_progress_line(line);
  line_shown_ = true;
  next_ = now + kNextBar;
}

void ProgressLine::count(std::string_view what, double done, double all) {
  if (!is_due() || !(all > 0)) return;
  const double part = std::min(0.99, done / all), elapsed = seconds();
  std::string line = fmt::format("{:.0f} % of {}, {}", 100 * part, what, duration_text(elapsed));
  if (part > 0) line += fmt::format(", about {} to go", duration_text(elapsed * (1 - part) / part));
  show(part, line);
}

void ProgressLine::end() {
  if (line_shown_) clear_progress_line();
  line_shown_ = false;
}

void PartsProgress::show(std::string_view what, std::int64_t done, std::int64_t all) {
  if (what != what_ || !line_) line_.emplace();
  what_ = what;
  line_->count(fmt::format("{} {}", all, what), static_cast<double>(done), static_cast<double>(all));
}

void RunningStep::begin(std::string_view step) {
  end();
  print_progress(step);
  if (!is_terminal(Stream::error)) return;
  done_ = false;
  try {
    watcher_ = std::thread([this, what = std::string(step)] {
      ProgressLine line;
      std::unique_lock lock(mutex_);
      while (!ended_.wait_for(lock, kNextBar, [this] { return done_; }))
        line.show(std::nullopt, fmt::format("{}, {}", what, duration_text(line.seconds())));
    });
  } catch (const std::system_error&) {  // the step continues without a progress display
    done_ = true;
  }
}

void RunningStep::end() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  if (watcher_.joinable()) watcher_.join();
}

}  // namespace dovetail::cli
