// What a command that runs something shows of its work, and how that ends early: work that will take long is announced
// before it starts, its progress is shown, and --limit, Ctrl-C and SIGTERM stop it. docs/reference/trust-and-limits.md
// describes it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
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
// "10s", "5min", "2h", "1e9steps" each; of several of a kind the least counts.
Result<WorkLimit> parse_limit(const std::vector<std::string>& texts);

// "12 s", "5 min", "3 h", "40 days": for estimates, which are not exact.
std::string duration_text(double seconds);

// What progress is counted in where it is not steps: runs of a model, say.
struct CountedWork {
  std::string what;  // "runs"
  std::int64_t all = 0;
  const std::atomic<std::int64_t>* done = nullptr;  // outlives the watching
};

class WatchedWork {
 public:
  explicit WatchedWork(const WorkLimit& limit);
  ~WatchedWork() { finish(); }
  WatchedWork(const WatchedWork&) = delete;
  WatchedWork& operator=(const WatchedWork&) = delete;

  Work* work() { return &work_; }
  // Progress is counted so from the next begin() on.
  void show(CountedWork counted) { counted_ = std::move(counted); }
  // From here on until finish() the work is watched, and a signal to end is a request to stop it.
  void begin();
  // The work has ended. What follows, writing results above all, is not to be stopped halfway.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void announce(std::string_view what, const WorkEstimate& estimate);
  void watch();
  void check_for_stop(Clock::time_point now);
  void show_progress();

  WorkLimit limit_;
  Work work_;
  std::optional<CountedWork> counted_;
  Clock::time_point start_;
  double announced_seconds_ = 0;  // the longest so far
  std::optional<Clock::time_point> stopped_at_;
  std::optional<ProgressLine> line_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = true;
  std::jthread watcher_;
};

// --limit of a command.
struct LimitArguments {
  std::vector<std::string> limits;
  void declare(Options& options);
};

// Ends the process by the signal that has ended its work, if one has: anyone who started it sees that, and a shell's
// loop ends too.
void end_by_signal();

}  // namespace dovetail::cli
