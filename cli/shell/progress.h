// How far long work has come, on stderr: stdout holds results alone. On a terminal a bar that is written over,
// elsewhere lines, which come ever more rarely.
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

// A step of work whose length nobody knows, at once: "building".
void print_progress(std::string_view step);

class ProgressLine {
 public:
  enum class Begin { at_once, if_it_lasts };  // on a terminal
  explicit ProgressLine(Begin begin = Begin::if_it_lasts);
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // From 0 to 1, and what is done, in words; shown if it is time for that. Nothing: it is not known how much it is.
  void show(std::optional<double> part, std::string_view text);
  // The same for so many of all, with the time that they have taken and what is left of it.
  void count(std::string_view what, double done, double all);
  void end();  // clears the line

  // Whether show() would show something now: for texts that take time to make.
  bool is_due() const { return Clock::now() >= next_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now(), next_;
  bool line_shown_ = false;
};

// Work in several parts, one after the other, each of which counts by itself.
class PartsProgress {
 public:
  void show(std::string_view what, std::int64_t done, std::int64_t all);
  void end() { line_.reset(); }

 private:
  std::string what_;
  std::optional<ProgressLine> line_;
};

// A step that does not say how far it is: how long it has taken, until the end of the scope.
class RunningStep {
 public:
  RunningStep() = default;
  ~RunningStep() { end(); }
  RunningStep(const RunningStep&) = delete;
  RunningStep& operator=(const RunningStep&) = delete;

  void begin(std::string_view step);  // ends the step before
  void end();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = true;
  std::thread watcher_;
};

}  // namespace dovetail::cli
