// Shows the work of a command, and stops it early: long work is announced before it starts, its progress is shown, and
// --limit, Ctrl-C and SIGTERM stop it (docs/reference/trust-and-limits.md).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/work.h"
#include "cli/shell/options.h"
#include "cli/shell/progress.h"

namespace dovetail::cli {

struct WorkLimit {
  std::optional<double> seconds;
  std::optional<std::uint64_t> steps;
};
// `texts`: "10s", "5min", "2h", "1e9steps" each. Of several limits of a kind the smallest counts.
Result<WorkLimit> parse_limit(const std::vector<std::string>& texts);

// "12 s", "5 min", "3 h", "40 days": for estimates, which are not exact.
std::string duration_text(double seconds);

// The unit that progress is counted in where it is not steps, for example runs of a model.
struct CountedWork {
  std::string what;  // "runs"
  std::int64_t all = 0;
  const std::atomic<std::int64_t>* done = nullptr;  // outlives this object
};

// Returns the current progress, for work whose parts are counted separately; called by another thread. nullopt: nothing
// to show.
struct ProgressText {
  std::optional<double> part;  // from 0 to 1
  std::string text;
};
using DescribeProgress = std::function<std::optional<ProgressText>()>;

class WatchedWork {
 public:
  explicit WatchedWork(const WorkLimit& limit);
  ~WatchedWork() { finish(); }
  WatchedWork(const WatchedWork&) = delete;
  WatchedWork& operator=(const WatchedWork&) = delete;

  Work* work() { return &work_; }
  // Progress is counted this way from the next begin().
  void show(CountedWork counted) { counted_ = std::move(counted); }
  void show(DescribeProgress describe) { describe_ = std::move(describe); }
  // Announces a long part of the work: its text is followed by instructions for ending it.
  void announce_part(std::string_view text) const;
  // The hint of the diagnostic for work that was stopped; by default that nothing was written.
  void when_stopped(std::string hint) { stopped_hint_ = std::move(hint); }
  // The work ends itself when it is stopped, however long that takes; a second signal is in stopping_signals().
  void ends_itself() { ends_itself_ = true; }
  // Until finish() the work is watched, and a signal to end the process only requests a stop of the work.
  void begin();
  // The work has ended. Later steps, such as writing results, must not be stopped halfway.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void announce(std::string_view what, const WorkEstimate& estimate);
  std::string how_to_end() const;
  void watch();
  void check_for_stop(Clock::time_point now);
  void show_progress();

  WorkLimit limit_;
  Work work_;
  std::optional<CountedWork> counted_;
  DescribeProgress describe_;
  std::string stopped_hint_ = "nothing was written";
  Clock::time_point start_;
  bool ends_itself_ = false;
  double announced_seconds_ = 0;  // longest estimate announced so far
  std::optional<Clock::time_point> stopped_at_;
  std::optional<ProgressLine> line_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = true;
  std::jthread watcher_;
};

// The option --limit.
struct LimitArguments {
  std::vector<std::string> limits;
  void declare(Options& options);
};

// The signal that stopped the work, or 0; and how many have come.
int stopping_signal();
int stopping_signals();
void forget_signal();

}  // namespace dovetail::cli
