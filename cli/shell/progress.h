// Progress of long work, on stderr, since stdout has only results. On a terminal a bar that is overwritten, elsewhere
// lines at increasing intervals.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace dovetail::cli {

// Prints at once a step of work of unknown length: "building".
void print_progress(std::string_view step);

class ProgressLine {
 public:
  enum class Begin { at_once, if_it_lasts };  // when a bar appears on a terminal
  explicit ProgressLine(Begin begin = Begin::if_it_lasts);
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Shows the progress if an update is due. `part`: from 0 to 1, nullopt if unknown; `text`: what is done.
  void show(std::optional<double> part, std::string_view text);
  // The same for `done` of `all`, with the elapsed time and an estimate of the remaining time.
  void count(std::string_view what, double done, double all);
  void end();  // clears the line

  // Whether show() would show something now, for texts that are expensive to make.
  bool is_due() const { return Clock::now() >= next_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now(), next_;
  bool line_shown_ = false;
};

// Work in several consecutive parts, each with its own count.
class PartsProgress {
 public:
  void show(std::string_view what, std::int64_t done, std::int64_t all);
  void end() { line_.reset(); }

 private:
  std::string what_;
  std::optional<ProgressLine> line_;
};

// Shows the elapsed time of a step of unknown progress, until the end of the scope.
class RunningStep {
 public:
  RunningStep() = default;
  ~RunningStep() { end(); }
  RunningStep(const RunningStep&) = delete;
  RunningStep& operator=(const RunningStep&) = delete;

  void begin(std::string_view step);  // ends the previous step
  void end();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = true;
  std::thread watcher_;
};

}  // namespace dovetail::cli
